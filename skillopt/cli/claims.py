"""Commands about what may be claimed: report, verify, compare, calibrate, blame, ablate, shrink.

Those that call a model say first what it will cost; `--dry-run` stops there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from skillopt.cli.environment import environment
from skillopt.cli.flags import FlagCommand, configured
from skillopt.cli.own import own_data, own_skill

if TYPE_CHECKING:
    from skillopt.claiming import Subject
    from skillopt.claims.evidence import Line
    from skillopt.evaluation.statistics import Interval
    from skillopt.types import JSON

T = TypeVar("T")
Attempts = Callable[[Callable[[str], int]], int]
"""How many attempts a command makes, given how many items a split has."""
RUN = click.argument("run_dir", type=click.Path(path_type=Path), metavar="RUN")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what it would cost; no model is called.")


@click.command()
@RUN
@click.option("--out", type=click.Path(path_type=Path), help="File to write; by default report.html (or .md) in RUN.")
@click.option("--format", "form", type=click.Choice(["html", "md"]), help="By default as the file's name says.")
@click.option("--replicate", is_flag=True, help="First measure the best skill afresh on the selection items.")
@DRY_RUN
def report(run_dir: Path, out: Path | None, form: str | None, replicate: bool, dry_run: bool) -> None:
    """Write the report of a finished run: one page with all that is needed to check it."""
    from skillopt import claiming
    from skillopt.claims.reporting.files import form_of, write_report

    _is_run(run_dir)
    if replicate and not _spend(_subject(run_dir), "replicate", lambda n: n("val"), dry_run):
        return
    if replicate:
        _run(claiming.replicate(_subject(run_dir)))
    wanted = form_of(out, form or "")
    path = write_report(claiming.report_content(run_dir), out or run_dir / f"report.{wanted}", wanted)
    click.echo(f"The report is {path}.")


@click.command()
@RUN
@AS_JSON
def verify(run_dir: Path, as_json: bool) -> None:
    """Compute every reported number of a run again from its journal, offline; exits 1 on a mismatch."""
    from skillopt.claiming import verified

    _is_run(run_dir)
    found = verified(run_dir)
    if as_json:
        _print_json(found.to_dict())
    else:
        for check in found.checks:
            word = f"{len(check.mismatches)} mismatches" if check.mismatches else "agrees" if check.compared else "-"
            click.echo(f"{check.name:10}  {check.compared:6} compared  {word}")
            for line in (*map(str, check.mismatches), *(f"note: {note}" for note in check.notes)):
                click.echo(f"  {line}")
        click.echo(
            "Every number follows from the journal." if found.sound else "The run does not follow from its journal."
        )
    if not found.sound:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("runs", type=click.Path(path_type=Path), metavar="RUN...", nargs=-1, required=True)
@AS_JSON
def compare(runs: tuple[Path, ...], as_json: bool) -> None:
    """Compare finished runs on the same test items: each later one with the first, pair by pair."""
    from skillopt.claims.comparison import compare as compared
    from skillopt.claims.ledger import Ledger

    for run in runs:
        _is_run(run)
    names = _names(runs)
    found = compared({name: Ledger.read(run) for name, run in zip(names, runs, strict=True)})
    if as_json:
        _print_json(found.to_dict())
        return
    click.echo(f"{found.items} test items, score: {found.metric}")
    for run in found.runs:
        decided = ", ".join(f"{n} {action}" for action, n in run.decisions.items())
        cost = f"${run.usage.cost_usd:.2f}" if run.usage.unpriced < run.usage.calls else "price not known"
        click.echo(f"  {run.name}: {_points(run.score)}; {decided}; {run.usage.calls} calls, {cost}")
    for each in found.differences:
        kind = "" if each.kind == "all" else f", {each.kind}"
        flips = f"{each.won} items won, {each.lost} lost, of {each.change.n}"
        click.echo(f"{each.second} against {each.first}{kind}: {_points(each.change, signed=True)}; {flips}")
    for note in found.notes:
        click.echo(f"note: {note}")


@click.command(cls=FlagCommand)
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="[RUN]", required=False)
@click.option("--lift", default=0.05, show_default=True, type=click.FloatRange(0.001, 1), help="Lift you hope for.")
@click.option("--split", default="val", show_default=True, type=click.Choice(["train", "val"]), help="Items to score.")
@AS_JSON
@DRY_RUN
@own_skill
@own_data
@configured
def calibrate(
    run_dir: Path | None,
    lift: float,
    split: str,
    as_json: bool,
    dry_run: bool,
    config: Path | None,
    cfg_options: tuple[str, ...],
    verbose: int,
    **flags: JSON,
) -> None:
    """Score the seed skill twice and say what is luck here, and the smallest lift the test split can show."""
    from dataclasses import asdict

    from skillopt import claiming
    from skillopt.claims.calibration import in_words

    subject = _subject(run_dir) if run_dir is not None else _configured(config, cfg_options, flags)
    if not _spend(subject, "calibration", lambda n: 2 * n(split), dry_run, quiet=as_json):
        return
    found = _run(claiming.calibrate(subject, split=split, hoped=lift))
    if found is None:
        raise click.ClickException("no item has a result in both passes, so nothing can be said.")
    if as_json:
        _print_json(asdict(found))
        return
    for line in in_words(found):
        click.echo(line)


@click.command()
@click.argument("what", type=click.Path(path_type=Path), metavar="RUN|SKILL")
@click.option("--run", "run_dir", type=click.Path(path_type=Path), help="The run that a SKILL file came from.")
@AS_JSON
def blame(what: Path, run_dir: Path | None, as_json: bool) -> None:
    """Say for every line which step and edit brought it, which items argued for it and what flipped after it."""
    from skillopt.claims.evidence import blame as blamed
    from skillopt.claims.ledger import Ledger
    from skillopt.skill.document import Skill

    text = None
    if not (what / "events.jsonl").is_file():
        text = Skill.load(what).text
        run_dir = run_dir or _run_of(text, what)
    ledger = Ledger.read(run_dir or what)
    lines = blamed(ledger, text)
    if as_json:
        _print_json([line.to_dict() for line in lines])
        return
    for line in lines:
        click.echo(_blamed(line))


@click.command()
@RUN
@click.option(
    "--split", default="val", show_default=True, type=click.Choice(["val", "test"]), help="Items to measure on."
)
@AS_JSON
@DRY_RUN
def ablate(run_dir: Path, split: str, as_json: bool, dry_run: bool) -> None:
    """Measure the best skill without each accepted edit in turn; a stopped ablation continues."""
    from skillopt import claiming
    from skillopt.claims.ablation import documents

    subject = _subject(run_dir)
    assert subject.ledger is not None
    count = len(documents(subject.ledger))
    if not count:
        click.echo("The best skill is the seed skill: no accepted edit is left to take out.")
        return
    if split == "test":
        click.echo("warning: this opens the test split again; what it shows must not choose edits.", err=True)
    name = "ablation" if split == "val" else "ablation-test"
    if not _spend(subject, name, lambda n: (count + 1) * n(split), dry_run, quiet=as_json):
        return
    found = _run(claiming.ablate(subject, split=split))
    if as_json:
        _print_json([each.to_dict() for each in found])
        return
    click.echo(f"What each edit is worth, in points on {found[0].worth.n if found else 0} {split} items:")
    for each in found:
        flips = f"helps {len(each.helps)}, harms {len(each.harms)}"
        click.echo(f"  {each.name:10} {_points(each.worth, signed=True)}; {flips}; {_one_line(each.wrote)}")


@click.command(cls=FlagCommand)
@click.argument("what", type=click.Path(path_type=Path), metavar="RUN|SKILL")
@click.option("--margin", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="Loss of score allowed.")
@click.option("--tokens", default=0, type=click.IntRange(0), help="Size wanted; 0 = as short as it gets.")
@click.option("--trials", default=12, show_default=True, type=click.IntRange(1), help="Measurements at most.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the proposal.")
@DRY_RUN
@own_data
@configured
def shrink(
    what: Path,
    margin: float,
    tokens: int,
    trials: int,
    out: Path | None,
    dry_run: bool,
    config: Path | None,
    cfg_options: tuple[str, ...],
    verbose: int,
    **flags: JSON,
) -> None:
    """Propose a shorter skill that does as well on the selection items; nothing of yours is changed."""
    from skillopt import claiming
    from skillopt.claims.shrinking import Limits
    from skillopt.journal.files import write_atomic
    from skillopt.skill.document import Skill

    is_run = (what / "events.jsonl").is_file()
    subject = _subject(what) if is_run else _configured(config, cfg_options, flags)
    skill = subject.ledger.best if subject.ledger else Skill.load(what)
    if not _spend(subject, "shrink", lambda n: (trials + 1) * n("val"), dry_run):
        return
    found = _run(claiming.shorten(subject, skill, Limits(margin, tokens, trials)))
    for trial in found.trials:
        word = "out" if trial.kept_out else "stays"
        click.echo(
            f"  {word:5} {_points(trial.change, signed=True) if trial.change else ''}  {_one_line(trial.removed)}"
        )
    before, after = found.tokens
    if found.after == found.before:
        click.echo(f"Nothing could be taken out within the margin; the skill has about {before} tokens.")
        return
    path = out or (subject.home("shrink") / "proposed_skill.md" if is_run else what.with_suffix(".shorter.md"))
    write_atomic(path, found.after.text.encode())
    change = f" ({_points(found.change, signed=True)} on the selection items)" if found.change else ""
    click.echo(f"About {before} tokens became {after}{change}. The proposal is {path}; nothing else was changed.")


def _subject(run_dir: Path) -> Subject:
    from skillopt.claiming import subject_of
    from skillopt.claims.ledger import finished_training

    _is_run(run_dir)
    finished_training(run_dir)
    return subject_of(run_dir, environment())


def _configured(config: Path | None, cfg_options: tuple[str, ...], flags: dict[str, JSON]) -> Subject:
    from skillopt.claiming import Subject
    from skillopt.cli.work import loaded_from

    return Subject(loaded_from(config, cfg_options, flags), environment())


def _is_run(run_dir: Path) -> None:
    if not (run_dir / "events.jsonl").is_file():
        raise click.UsageError(f"{run_dir} is not a run (it has no events.jsonl); `skillopt runs list` shows the runs.")


def _run(work: Coroutine[None, None, T]) -> T:
    import asyncio

    return asyncio.run(work)


def _spend(subject: Subject, claim: str, attempts: Attempts, dry_run: bool, *, quiet: bool = False) -> bool:
    """Say what the attempts will cost; whether to go on."""
    from skillopt.progress.quote import quote_line
    from skillopt.quoting import quote_attempts

    inputs = subject.inputs(claim)
    sizes = {"val": inputs.config.evaluation.sel_env_num, "test": inputs.config.evaluation.test_env_num}

    def count(split: str) -> int:
        return min(len(inputs.splits.of(split)), sizes.get(split, 0) or len(inputs.splits.of(split)))

    click.echo(quote_line(quote_attempts(inputs, subject.environ, attempts(count))), err=quiet)
    return not dry_run


def _run_of(text: str, what: Path) -> Path:
    """The run that has this document as its best, or as one of its documents."""
    from skillopt.journal.runs import list_runs
    from skillopt.types import digest

    root = Path("outputs")
    for row in list_runs(root) if root.is_dir() else ():
        if row.view is not None and row.view.kind == "train" and digest(text) in row.view.best_digests:
            return row.path
    raise click.UsageError(f"no run below outputs/ ended with {what.name}; name the run it came from: --run RUN")


def _names(runs: tuple[Path, ...]) -> list[str]:
    """Short names of runs that tell them apart."""
    if len({run.resolve() for run in runs}) < len(runs):
        raise click.UsageError("a run is named twice; name different runs.")
    names = [run.resolve().name for run in runs]
    if len(set(names)) == len(names):
        return names
    return [f"{run.resolve().parent.name}/{run.resolve().name}" for run in runs]


def _points(interval: Interval, *, signed: bool = False) -> str:
    from skillopt.claims.reporting.content import points

    return points(interval, signed=signed)


def _blamed(line: Line) -> str:
    source = line.source
    edit = f".{source.edit}" if source.edit else ""
    flips = f"+{len(source.gained)}/-{len(source.broken)}" if source.brought else ""
    support = f"for {', '.join(item[:12] for item in source.support[:3])}" if source.support else ""
    return f"{line.number:4} {source.at + edit:12} {flips:7} {line.text}{f'    <- {support}' if support else ''}"


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 90 else f"{flat[:86]} ..."


def _print_json(value: JSON) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


COMMANDS = (report, verify, compare, calibrate, blame, ablate, shrink)
