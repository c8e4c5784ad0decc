"""`skillopt models`: which local models there are, and getting one before a run needs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from skillopt.cli.environment import environment

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from skillopt.model.weights import Progress, Source


@click.group()
def models() -> None:
    """Local models: list them, fetch one, say where its file is."""


@models.command("list")
def listed() -> None:
    """List the models that go by a name."""
    from skillopt.model.weights import DEFAULT, TABLE, cache_directory

    cache = cache_directory(environment())
    rows = [("name", "size", "licence", "layout", "here", "from")]
    for row in TABLE.values():
        origin = f"package index, {row.packages[0]}" if row.known else f"hub, {row.hub.partition(':')[0]}"
        mirror = "" if row.known else " (with --source index: package index)"
        name = f"{row.name} (default)" if row.name == DEFAULT else row.name
        here = "yes" if (cache / row.file).is_file() else "no"
        rows.append((name, row.megabytes, row.licence, row.layout, here, origin + mirror))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for each in rows:
        click.echo("  ".join(f"{cell:{width}}" for cell, width in zip(each, widths, strict=True)).rstrip())
    click.echo("Any other model: the path of a .gguf file, or owner/repository:file.gguf of the Hugging Face hub.")


@models.command()
@click.argument("name", default="smollm2-135m")
@click.option(
    "--source",
    type=click.Choice(["auto", "index", "hub"]),
    default="auto",
    show_default=True,
    help="index takes the mirror on the package index; the checksum decides either way.",
)
def pull(name: str, source: str) -> None:
    """Fetch the weights of NAME into the cache and check them."""
    click.echo(fetched(name, cast("Source", source), environment()))


@models.command()
@click.argument("name", default="smollm2-135m")
def path(name: str) -> None:
    """Print the file of NAME; fail if it is not here yet."""
    from skillopt.model.weights import TABLE, cache_directory, check_name, ensure, present

    cache = cache_directory(environment())
    row = TABLE.get(check_name(name))
    found = ensure(name, cache).path if row is None else present(row, cache)
    if found is None:
        raise click.ClickException(f"{name} is not here yet; fetch it with: skillopt models pull {name}")
    click.echo(found)


def fetched(name: str, source: Source, environ: Mapping[str, str]) -> Path:
    """The checked file of a model; what is missing is downloaded, with a bar."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from skillopt.model.weights import cache_directory, ensure

    with Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), transient=True) as bars:
        return ensure(name, cache_directory(environ), source=source, progress=_shown(bars)).path


def _shown(bars: Bars) -> Progress:
    """One bar for each thing that is done."""
    tasks: dict[str, int] = {}

    def report(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what)
        # rich numbers its tasks with a type of its own that is an int.
        bars.update(tasks[what], completed=done, total=total or None)  # pyright: ignore[reportArgumentType]

    return report
