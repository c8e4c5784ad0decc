"""`new`: a working skeleton to start from. It is the folder `skillopt/envs/_template`, with other names in it."""

from __future__ import annotations

import keyword
import re
import shlex
from pathlib import Path

import click

TEMPLATE = Path(__file__).parent.parent / "envs" / "_template"
_LEFT_OUT = ("__pycache__", "__init__.py")


@click.group()
def new() -> None:
    """Start something of your own from a working skeleton."""


@new.command("benchmark")
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where the new folder is made; by default here.",
)
def new_benchmark(name: str, folder: Path) -> None:
    """Write a benchmark NAME that passes its own test and trains: adapter, prompts, seed skill, data, configuration."""
    _check(name)
    home = folder / name
    if home.exists():
        raise click.UsageError(f"{home} is already there; choose another name or another --dir.")
    for file in sorted(path for path in TEMPLATE.rglob("*") if path.is_file()):
        _copy(file, home, name)
    here, config = shlex.quote(str(home)), shlex.quote(str(home / "config.yaml"))
    click.echo(f"{home} holds a working benchmark; change `task` and `score` in {home / 'adapter.py'} first.")
    click.echo("\nNext:")
    click.echo(f"  pytest {here}")
    click.echo(f"  skillopt train --config {config} --dry-run    # check everything, call nobody")
    click.echo(f"  skillopt train --config {config}")


def _check(name: str) -> None:
    from skillopt.registry import BENCHMARKS, names

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise click.UsageError(
            f"{name!r} cannot be a benchmark's name: use small letters, digits and _, and begin with a letter."
        )
    if name in names(BENCHMARKS):
        raise click.UsageError(f"there is a benchmark {name!r} already (`skillopt list` shows them all).")


def _copy(file: Path, home: Path, name: str) -> None:
    if any(part in _LEFT_OUT for part in file.parts):
        return
    target = home / file.relative_to(TEMPLATE).with_name(file.name.replace("template", name))
    target.parent.mkdir(parents=True, exist_ok=True)
    cls = "".join(word.capitalize() for word in name.split("_"))
    text = file.read_text(encoding="utf-8").replace("skillopt/envs/_template", home.as_posix())
    text = text.replace("TemplateBenchmark", f"{cls}Benchmark").replace('"template"', f'"{name}"')
    target.write_text(text, encoding="utf-8")
