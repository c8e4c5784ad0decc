"""`skillopt data`: published data into split directories, and a hard look at any of them before money is spent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from skillopt.cli.auditing import Report

_PLACES = 3


@click.group()
def data() -> None:
    """Data sets: prepare a benchmark's published files, check a split directory."""


@data.command()
@click.argument("benchmark")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the splits go.")
@click.option(
    "--split-ratio", default="", metavar="A:B:C", help="train:val:test; without it the published splits, or 2:1:7."
)
@click.option("--seed", default=42, show_default=True, help="Decides the shuffle before the cut.")
@click.option("--manifest", type=click.Path(path_type=Path), help="Ids of published splits: a directory or a file.")
@click.option("--limit", default=0, metavar="N", help="Only the first N items of every split.")
@click.option("--from-hub", is_flag=True, help="Fetch from the Hugging Face hub; SOURCE may name another repository.")
@click.option("--allow-missing", is_flag=True, help="Go on without items that are absent or incomplete.")
@click.option("--force", is_flag=True, help="Replace a directory that this command made.")
@click.option("--mini", is_flag=True, help="A small set of our own making instead of a SOURCE (alfworld).")
def prepare(
    benchmark: str,
    sources: tuple[str, ...],
    out: Path,
    split_ratio: str,
    seed: int,
    manifest: Path | None,
    limit: int,
    from_hub: bool,
    allow_missing: bool,
    force: bool,
    mini: bool,
) -> None:
    """Turn the published files of BENCHMARK into train, val and test.

    A SOURCE is a file (CSV, JSON, JSONL, parquet), a folder or an archive, as it was downloaded. BENCHMARK is one of
    searchqa, docvqa, livemathematicianbench, officeqa, spreadsheetbench, alfworld.
    """
    if mini:
        _make_mini(benchmark, sources, out, seed, force=force)
        return
    from skillopt import __version__
    from skillopt.datasets.prepare.run import Order
    from skillopt.datasets.prepare.run import prepare as prepared

    tool = f"skillopt {__version__}"
    order = Order(benchmark, sources, out, split_ratio, seed, manifest, limit, from_hub, force, allow_missing, tool)
    done = prepared(order)
    counts = ", ".join(f"{count} {name}" for name, count in done.counts.items())
    files = f", {done.files} files beside them" if done.files else ""
    click.echo(f"{done.out}: {counts} items{files}.")
    for note in done.notes:
        click.echo(f"- {note}.")
    click.echo(f"Look at it: skillopt data check {done.out}")


def _make_mini(benchmark: str, sources: tuple[str, ...], out: Path, seed: int, *, force: bool) -> None:
    if benchmark != "alfworld" or sources:
        raise click.UsageError("--mini makes games for alfworld, and takes no SOURCE")
    from skillopt.testing.mini_alfworld import prepare_mini

    counts = ", ".join(f"{count} {name}" for name, count in prepare_mini(out, force=force, seed=seed).items())
    click.echo(f"{out}: {counts} games, each played and won once.")
    click.echo(f"Train on them: skillopt train --config configs/alfworld/default.yaml --split_dir {out}")


@data.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--benchmark", default="", metavar="NAME", help="Whose rows these are; otherwise the manifest says.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, folder: Path, benchmark: str, as_json: bool) -> None:
    """Look for what would spoil a run or its result in the split directory DIR.

    Unusable rows, copies within and between splits, answers that can be had without the work, and what gain the sizes
    can show. The exit code is 0 without errors, 1 with errors, 2 for a directory that cannot be read.
    """
    from skillopt.cli.auditing import audited

    report = audited(folder, benchmark, os.environ)
    if as_json:
        click.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2))
    else:
        _show(report)
    ctx.exit(0 if report.audit.sound else 1)


def _show(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("", "what", "where", "what to do", show_lines=True)
    colours = {"error": "red", "warning": "yellow", "note": "dim"}
    for finding in report.audit.findings:
        some = ", ".join(finding.where[:_PLACES])
        more = f" and {len(finding.where) - _PLACES} more" if len(finding.where) > _PLACES else ""
        sign = Text(finding.severity, colours[finding.severity])
        # Text, not markup: ids hold brackets and colons.
        table.add_row(sign, Text(finding.what), Text(some + more), Text(finding.todo))
    console = Console()
    console.print(Text(f"{report.folder}: {report.told}"), soft_wrap=True)
    console.print(table)
    click.echo(", ".join(f"{name}s: {len(report.audit.of(name))}" for name in colours))
