"""`train` and `eval`: read the configuration, run, show the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillopt.cli.environment import environment
from skillopt.cli.flags import FlagCommand, configured, running
from skillopt.cli.own import QUICKSTART, SHIPPED, chosen_file, own_data, own_skill, taken

if TYPE_CHECKING:
    from rich.console import Console

    from skillopt.app import Outcome
    from skillopt.config.load import Loaded
    from skillopt.progress import Watcher
    from skillopt.types import JSON

SPLITS = ("train", "valid_seen", "valid_unseen", "all", "val", "selection", "test")


@click.command(cls=FlagCommand)
@click.argument("shipped", metavar="[TASK]", required=False, type=click.Choice(tuple(SHIPPED)))
@click.option("--dry-run", is_flag=True, help="Check everything and print the quote; no model is called.")
@running
@own_skill
@own_data
@configured
def train(
    shipped: str | None,
    config: Path | None,
    cfg_options: tuple[str, ...],
    dry_run: bool,
    fresh: bool,
    plain: bool,
    verbose: int,
    **flags: JSON,
) -> None:
    """Train a skill. The same command again continues a run that was stopped.

    TASK is a shipped one that needs no key: passages (what `skillopt train` alone runs) or tickets.
    """
    import asyncio

    from skillopt import app
    from skillopt.progress.quote import quote_line, quote_table
    from skillopt.quoting import quote_training

    console, watcher = _display(plain, verbose)
    if shipped and config:
        raise click.UsageError(f"{shipped} has a configuration of its own; leave out either it or --config")
    config = SHIPPED[shipped] if shipped else config
    loaded, environ = loaded_from(config, cfg_options, flags, QUICKSTART), environment()
    _survey(loaded)
    quote = quote_training(loaded, environ)
    if dry_run:
        console.print(quote_table(quote))
    console.print(quote_line(quote), highlight=False, soft_wrap=True)
    if not dry_run:
        _fetch_weights(loaded, environ)
        outcome = asyncio.run(app.run_training(loaded, environ=environ, fresh=fresh, watcher=watcher))
        _print_summary(console, outcome)
        _propose(outcome)


def _split_name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    from difflib import get_close_matches

    if value in SPLITS:
        return value
    near = get_close_matches(value, SPLITS, n=1, cutoff=0.5)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise click.BadParameter(f"there is no split {value!r}.{guess} Splits: {', '.join(SPLITS)}.", ctx, param)


@click.command("eval", cls=FlagCommand)
@running
@click.option(
    "--split",
    default="all",
    show_default=True,
    callback=_split_name,
    metavar="NAME",
    help="train, valid_seen (val, selection), valid_unseen (test) or all.",
)
@click.option("--skill", required=True, type=click.Path(path_type=Path), help="Skill document to score.")
@own_data
@configured
def evaluate(
    config: Path | None,
    cfg_options: tuple[str, ...],
    skill: Path,
    split: str,
    fresh: bool,
    plain: bool,
    verbose: int,
    **flags: JSON,
) -> None:
    """Score a skill without training; the result is also in eval_summary.json."""
    import asyncio

    from skillopt import app

    console, watcher = _display(plain, verbose)
    loaded, environ = loaded_from(config, cfg_options, flags), environment()
    _fetch_weights(loaded, environ)
    work = app.run_evaluation(loaded, environ=environ, skill=skill, split=split, fresh=fresh, watcher=watcher)
    _print_summary(console, asyncio.run(work))


def loaded_from(
    path: Path | None, cfg_options: Iterable[str], flags: dict[str, JSON], otherwise: Path | None = None
) -> Loaded:
    """The checked configuration; what the reader should know about it goes to stderr."""
    from skillopt import app
    from skillopt.config.legacy import overrides_from
    from skillopt.config.load import parse_cfg_options
    from skillopt.keyless import settled

    mine = taken(flags)
    chosen = chosen_file(path, mine, otherwise)
    overrides = (*parse_cfg_options(cfg_options), *overrides_from(flags), *mine.overrides())
    fitting = mine.fitting(overrides) if chosen is None else ()
    given = (*overrides, *fitting)
    loaded = settled(app.load(chosen, given), environment(), lambda more: app.load(chosen, (*given, *more)))
    for warning in loaded.warnings:
        click.echo(f"skillopt: note: {warning}", err=True)
    return loaded


def _fetch_weights(loaded: Loaded, environ: Mapping[str, str]) -> None:
    """A local model is brought here first, in sight, so that no step of the run is a silent download."""
    from skillopt.cli.models import fetched
    from skillopt.model.assemble import resolved

    endpoints = resolved(loaded.config, environ).values()
    for name in {endpoint.model: None for endpoint in endpoints if endpoint.backend == "local"}:
        fetched(name, loaded.config.model.local_source, environ)


def _survey(loaded: Loaded) -> None:
    """How the user's own examples were read, before anything is paid."""
    if loaded.config.env.name != "own":
        return
    from skillopt import app
    from skillopt.envs.own.adapter import Own, OwnOptions
    from skillopt.evaluation.survey import survey

    options = OwnOptions.model_validate(dict(loaded.config.env.options))
    for line in survey(Own(options), app.data_source(loaded.config, Path()), scorer_given=bool(options.scorer)):
        click.echo(line)


def _propose(outcome: Outcome) -> None:
    """A better skill is laid beside the user's own file, never over it."""
    from skillopt.propose import proposal_of, write_proposal

    proposal = proposal_of(outcome.view, outcome.run_dir)
    if proposal is not None and outcome.view.finished is not None:
        path = write_proposal(proposal)
        click.echo(
            f"\nThe proposal is {path}; {proposal.original} is as it was. Put it in place: skillopt apply {path}"
        )


def _display(plain: bool, verbose: int) -> tuple[Console, Watcher]:
    """The console, and a log that does not draw over it."""
    import logging

    from rich.console import Console
    from rich.logging import RichHandler

    from skillopt.progress import LiveDisplay, pick_watcher

    console = Console()
    watcher = pick_watcher(console, plain)
    live = isinstance(watcher, LiveDisplay)
    handler = RichHandler(console=console, show_path=False) if live else logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s" if live else "%(levelname)s %(name)s: %(message)s"))
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger("skillopt").setLevel(level)
    return console, watcher


def _print_summary(console: Console, outcome: Outcome) -> None:
    from skillopt.progress import summary

    console.print(summary(outcome.view, outcome.run_dir), soft_wrap=True)
