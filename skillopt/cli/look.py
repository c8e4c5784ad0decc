"""Commands that only look: runs, settings, names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillopt.cli.flags import FlagCommand, configured
from skillopt.cli.own import own_data, own_skill
from skillopt.cli.work import loaded_from

if TYPE_CHECKING:
    from skillopt.journal.view import RunView
    from skillopt.types import JSON


@click.group()
def runs() -> None:
    """Look at runs, or write their files anew."""


@runs.command("list")
@click.argument("root", type=click.Path(path_type=Path), default=Path("outputs"))
def listed(root: Path) -> None:
    """List the runs below ROOT (outputs), newest first."""
    from rich.console import Console
    from rich.table import Table

    from skillopt.journal.runs import list_runs
    from skillopt.progress.words import duration, score

    table = Table("run", "status", "step", "val", "test", "time", box=None, pad_edge=False)
    for row in list_runs(root):
        view = row.view
        if view is None:
            table.add_row(str(row.path), f"unreadable: {row.broken}")
            continue
        best, done = view.state.best_score if view.state else None, view.finished
        test = score(done.best_test.hard) if done and done.best_test else ""
        steps = f"{view.last_step}/{view.plan.get('total_steps', '?')}" if view.kind == "train" else view.kind
        val = "" if best is None else score(best)
        table.add_row(str(row.path), view.status.name, steps, val, test, duration(view.wall_time))
    if not table.row_count:
        click.echo(f"There is no run below {root}.")
        return
    Console().print(table)


@runs.command()
@click.argument("run_dir", type=click.Path(path_type=Path))
def show(run_dir: Path) -> None:
    """Show the summary of one run."""
    from rich.console import Console

    from skillopt.progress import summary

    Console().print(summary(_view(run_dir), run_dir), soft_wrap=True)


@runs.command()
@click.argument("run_dir", type=click.Path(path_type=Path))
def rebuild(run_dir: Path) -> None:
    """Write all files of a run anew from its journal."""
    from skillopt.journal.artifacts import rebuild as write_anew

    write_anew(run_dir)
    click.echo(f"The files of {run_dir} were written anew from its journal.")


def _view(run_dir: Path) -> RunView:
    from skillopt.journal.log import Journal
    from skillopt.journal.view import RunView

    return RunView.of(Journal.read(run_dir))


@click.group("config")
def settings() -> None:
    """Look at settings."""


@settings.command(cls=FlagCommand)
@click.argument("keys", nargs=-1)
@own_skill
@own_data
@configured
def explain(
    config: Path | None, cfg_options: tuple[str, ...], keys: tuple[str, ...], verbose: int, **flags: JSON
) -> None:
    """Show every setting with its value and where it came from; with KEYS, only those whose name contains one."""
    from skillopt.config.explain import explain as explained

    rows = [
        row for row in explained(loaded_from(config, cfg_options, flags)) if not keys or any(k in row.key for k in keys)
    ]
    if not rows:
        raise click.UsageError(f"no setting has {' or '.join(keys)} in its name")
    width = max(len(row.key) for row in rows)
    for row in rows:
        meaning = f"\n{'':{width}}  {row.help}" if keys or verbose else ""
        click.echo(f"{row.key:{width}}  {row.value or repr('')}  ({row.source}){meaning}")


@click.command("list")
def list_names() -> None:
    """List the names that settings accept: benchmarks, backends, schedulers, modes, gate metrics."""
    from typing import get_args

    from skillopt.config import words
    from skillopt.envs.own.scoring import MEANINGS
    from skillopt.registry import BENCHMARKS, names

    closed = {
        "model.optimizer_backend": words.OptimizerBackend,
        "model.target_backend": words.TargetBackend,
        "optimizer.lr_scheduler": words.Scheduler,
        "optimizer.skill_update_mode": words.UpdateMode,
        "evaluation.gate_metric": words.GateMetric,
    }
    click.echo(f"env.name: {', '.join(names(BENCHMARKS))} (or package.module:Class)")
    click.echo(f"env.scorer (own): {', '.join(MEANINGS)}")
    for key, kind in closed.items():
        click.echo(f"{key}: {', '.join(get_args(get_args(kind)[0]))}")
