"""The command line. It imports click and nothing heavy: each command loads what it needs, so `--help` is instant.

Every flag is an override with a name, so flags, `--cfg-options` and files meet in one place, the configuration loader.
"""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import click

from skillopt import __version__
from skillopt.cli.claims import COMMANDS as CLAIMS
from skillopt.cli.dash import dash
from skillopt.cli.data import data
from skillopt.cli.doctor import doctor
from skillopt.cli.export import export_skill
from skillopt.cli.look import list_names, runs, settings
from skillopt.cli.mine import apply_proposal, init
from skillopt.cli.models import models
from skillopt.cli.new import new
from skillopt.cli.work import evaluate, train
from skillopt.errors import SkillOptError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="skillopt")
def cli() -> None:
    """Train a skill document for a frozen model."""


for _command in (
    init,
    new,
    train,
    evaluate,
    apply_proposal,
    export_skill,
    dash,
    data,
    doctor,
    models,
    runs,
    settings,
    list_names,
    *CLAIMS,
):
    cli.add_command(_command)


def run(command: click.Command, prog_name: str, args: Sequence[str] | None) -> int:
    """Run a command and turn what may go wrong into words and an exit code; anything else is a bug and shows itself."""
    # A run keeps most of what it makes until its end; the collector's default would walk it over and over (a fifth of
    # the time of a large evaluation). The process is ours here, so the choice is too.
    gc.set_threshold(50_000, 20, 50)
    try:
        code = command.main(None if args is None else list(args), prog_name, standalone_mode=False)
    except click.Abort:
        click.echo("skillopt: interrupted; the same command continues the run.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SkillOptError as error:
        click.echo(f"skillopt: {error}", err=True)
        return error.exit_code
    return code if isinstance(code, int) else 0


def _utf8() -> None:
    """Skills and signs are not ASCII; a terminal that is must not stop a run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(ValueError, OSError):
                stream.reconfigure(encoding="utf-8", errors="replace")


def main(args: Sequence[str] | None = None) -> NoReturn:
    _utf8()
    sys.exit(run(cli, "skillopt", args))


def train_main(args: Sequence[str] | None = None) -> NoReturn:
    _utf8()
    sys.exit(run(train, "skillopt-train", args))


def eval_main(args: Sequence[str] | None = None) -> NoReturn:
    _utf8()
    sys.exit(run(evaluate, "skillopt-eval", args))
