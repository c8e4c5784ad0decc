"""The command line. It imports click and nothing heavy: each command loads what it needs, so `--help` is instant.

The old flags come from one table (`skillopt.config.legacy.FLAGS`); everyday ones are shown by `--help`, all of them by
`--help-all`. Every flag is an override with a name, so flags, `--cfg-options` and files meet in one place.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from skillopt import __version__
from skillopt.errors import SkillOptError

if TYPE_CHECKING:
    from rich.console import Console

    from skillopt.config.legacy import Flag
    from skillopt.config.load import Loaded, Override
    from skillopt.progress import Watcher
    from skillopt.types import JSON

EVERYDAY = (
    "split_dir", "azure_openai_endpoint", "optimizer_model", "target_model", "num_epochs", "batch_size", "workers",
    "out_root", "seed", "limit",
)  # fmt: skip

_CFG = "--cfg-options"
_FLAGS = "skillopt.flags"
_ALL = "skillopt.all_flags"


def expand_cfg_options(args: Sequence[str]) -> list[str]:
    """`--cfg-options a=1 b=2` becomes two options, because click takes one value after an option."""
    out: list[str] = []
    rest = list(args)
    while rest:
        token = rest.pop(0)
        if token not in (_CFG, "--cfg_options"):
            out.append(token)
            continue
        values: list[str] = []
        while rest and not rest[0].startswith("-"):
            values.append(rest.pop(0))
        if not values:
            raise click.UsageError(f"{_CFG} needs at least one KEY=VALUE, as in {_CFG} train.seed=7")
        out.extend(part for value in values for part in (_CFG, value))
    return out


class BooleanWord(click.ParamType):
    """A boolean with a value. Anything but the six words is refused: `--use_gate onn` must not mean "off"."""

    name = "true|false"

    def convert(self, value: JSON, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        word = str(value).strip().lower()
        if word in ("true", "1", "yes", "on"):
            return True
        if word in ("false", "0", "no", "off"):
            return False
        self.fail(f"{value!r} is neither true nor false", param, ctx)


class FlagCommand(click.Command):
    """A command whose options are its own plus the table's; the table is loaded when the command is used."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        flags: list[click.Parameter] = ctx.meta.setdefault(_FLAGS, _flag_options(self.name or ""))
        return [*super().get_params(ctx), *flags]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, expand_cfg_options(args))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = {id(p) for p in self.params}
        params = self.get_params(ctx)
        shown = [p for p in params if id(p) not in own and p.name not in EVERYDAY]
        _section(ctx, formatter, "Options", [p for p in params if p not in shown])
        if ctx.meta.get(_ALL):
            _section(ctx, formatter, "Every other flag", sorted(shown, key=lambda p: p.name or ""))
        else:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all lists the other {len(shown)} flags. Any setting: {_CFG} section.key=value.")


def _section(ctx: click.Context, formatter: click.HelpFormatter, title: str, params: list[click.Parameter]) -> None:
    rows = [row for row in (p.get_help_record(ctx) for p in params) if row]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _flag_options(command: str) -> list[click.Parameter]:
    from skillopt.config.legacy import FLAGS

    return [_option(flag) for flag in FLAGS if command in flag.commands]


def _option(flag: Flag) -> click.Option:
    plain: dict[str, click.ParamType] = {"int": click.INT, "float": click.FLOAT, "bool": BooleanWord()}
    kind = click.Choice(flag.choices) if flag.choices else plain.get(flag.kind, click.STRING)
    return click.Option([f"--{flag.name}", flag.name], type=kind, help=flag.help)


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()
