"""The flags of `train` and `eval`: options made from one table (`skillopt.config.legacy.FLAGS`) when they are needed.

Everyday flags are shown by `--help`, all of them by `--help-all`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from skillopt.config.legacy import Flag

EVERYDAY = (
    "split_dir", "azure_openai_endpoint", "optimizer_model", "target_model", "num_epochs", "batch_size", "workers",
    "out_root", "seed", "limit",
)  # fmt: skip

_CFG = "--cfg-options"
_FLAGS = "skillopt.flags"
_ALL = "skillopt.all_flags"
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


def expand_cfg_options(args: Sequence[str]) -> list[str]:
    """`--cfg-options a=1 b=2` becomes two options, because click takes one value after an option."""
    out: list[str] = []
    rest = list(args)
    while rest:
        token = rest.pop(0)
        if token not in (_CFG, "--cfg_options"):
            out.append(token)
            continue
        values = [rest.pop(0)] if rest and not rest[0].startswith("-") else []
        while values and rest and "=" in rest[0] and not rest[0].startswith("-"):
            values.append(rest.pop(0))
        if not values:
            raise click.UsageError(f"{_CFG} needs at least one KEY=VALUE, as in {_CFG} train.seed=7")
        out.extend(part for value in values for part in (_CFG, value))
    return out


def boolean(ctx: click.Context, param: click.Parameter, value: str | None) -> bool | None:
    """A boolean with a value. Anything but the usual words is refused: `--use_gate onn` must not mean "off"."""
    if value is None:
        return None
    word = value.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise click.BadParameter(f"{value!r} is neither true nor false", ctx, param)
    return word in _TRUE


class FlagCommand(click.Command):
    """A command whose options are its own plus the table's; the table is loaded when the command is used."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if _FLAGS not in ctx.meta:
            ctx.meta[_FLAGS] = _flag_options("eval" if self.name == "eval" else "train")
        return [*super().get_params(ctx), *ctx.meta[_FLAGS]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, expand_cfg_options(args))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        flags: list[click.Parameter] = [p for p in self.get_params(ctx) if p in ctx.meta[_FLAGS]]
        rest = [p for p in flags if p.name not in EVERYDAY and not (isinstance(p, click.Option) and p.hidden)]
        _section(ctx, formatter, "Options", [p for p in self.get_params(ctx) if p not in rest])
        if ctx.meta.get(_ALL):
            _section(ctx, formatter, "Every other flag", sorted(rest, key=lambda p: p.name or ""))
        else:
            formatter.write_paragraph()
            formatter.write_text(
                f"--help-all lists the other {len(rest)} flags. Any setting: {_CFG} section.key=value."
            )


def _section(ctx: click.Context, formatter: click.HelpFormatter, title: str, params: list[click.Parameter]) -> None:
    options = (p for p in params if isinstance(p, click.Option))
    rows = [row for row in (p.get_help_record(ctx) for p in options) if row]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _flag_options(command: str) -> list[click.Parameter]:
    from skillopt.config.legacy import FLAGS

    return [_option(flag) for flag in FLAGS if command in flag.commands]


def _option(flag: Flag) -> click.Option:
    names = [f"--{flag.name}", flag.name]
    if flag.kind == "bool":
        return click.Option(names, callback=boolean, metavar="true|false", help=flag.help, hidden=flag.hidden)
    plain = {"int": click.INT, "float": click.FLOAT}.get(flag.kind, click.STRING)
    kind = click.Choice(flag.choices) if flag.choices else plain
    return click.Option(names, type=kind, help=flag.help, hidden=flag.hidden)


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def configured(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that reads a configuration."""
    for decorate in (
        click.option("--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
                     help="Show every flag and leave."),
        click.option("-v", "--verbose", count=True, help="Say more; twice for everything."),
        click.option(_CFG, "cfg_options", multiple=True, metavar="KEY=VALUE ...", help="Any settings."),
        click.option("--config", type=click.Path(path_type=Path),
                     help="Configuration file (YAML); by default ./skillopt.yaml."),
    ):  # fmt: skip
        command = decorate(command)
    return command


def running(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that runs a model."""
    command = click.option("--plain", is_flag=True, help="One line per milestone instead of the live display.")(command)
    return click.option("--fresh", is_flag=True, help="Start anew; an earlier run in the folder is set aside.")(command)
