"""What a report says, before anybody decides how it looks: sentences, tables and figures, all from the journal."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

import yaml

from skillopt.claims.calibration import in_words
from skillopt.claims.evidence import Line, blame
from skillopt.claims.figures import Figures, Lift
from skillopt.claims.ledger import Judged, Ledger, setting
from skillopt.evaluation.statistics import Interval
from skillopt.journal.records import nested_config
from skillopt.skill.diff import unified
from skillopt.skill.proposals import public_row
from skillopt.types import JSON

_KEPT = ("accept", "accept_new_best", "force_accept", "promote")


@dataclass(frozen=True, slots=True)
class Change:
    """One decision as a reader meets it; `edits` are (what it does, its text, why)."""

    at: str
    title: str
    kept: bool
    measured: str
    reason: str
    edits: tuple[tuple[str, str, str], ...]
    gained: tuple[str, ...]
    broken: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class Content:
    title: str
    verdict: str
    figures: Figures
    selection: tuple[str, ...]
    calibration: tuple[str, ...]
    changes: tuple[Change, ...]
    lines: tuple[Line, ...]
    facts: tuple[tuple[str, str], ...]
    digests: tuple[tuple[str, str], ...]
    config: str
    missing: str


def content(ledger: Ledger, figures: Figures, checksum: str = "", *, reopened: bool = False) -> Content:
    """Everything the report of a run says; `reopened`: the test split was looked at again after the end."""
    view = ledger.view
    return Content(
        title=f"SkillOpt: {setting(view, 'env', 'name') or 'a run'}",
        verdict=_verdict(ledger, figures.overall, figures.metric),
        figures=figures,
        selection=_selection(figures),
        calibration=in_words(figures.calibration) if figures.calibration else (),
        changes=tuple(_change(judged) for judged in ledger.judged if judged.decision.action not in ("final",)),
        lines=blame(ledger),
        facts=_facts(ledger, reopened),
        digests=_digests(ledger, checksum),
        config=yaml.safe_dump(shown(dict(nested_config(view))), sort_keys=False, allow_unicode=True),
        missing=_missing(ledger),
    )


def points(interval: Interval, *, signed: bool = False) -> str:
    """A share in points with its interval: `+12.5 (95%: +3.0 to +22.0)`."""
    sign = "+" if signed else ""
    value, low, high = (f"{100 * x:{sign}.1f}" for x in (interval.value, interval.low, interval.high))
    return f"{value} ({interval.level:.0%}: {low} to {high})"


def shown(value: JSON) -> JSON:
    """Settings as they may leave this machine: of an absolute path only the name stays."""
    if isinstance(value, Mapping):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if isinstance(value, str) and (PurePosixPath(value).is_absolute() or PureWindowsPath(value).drive):
        return f".../{PurePosixPath(value.replace(chr(92), '/')).name}"
    return value


def _verdict(ledger: Ledger, lift: Lift | None, metric: str) -> str:
    if lift is None:
        return "The test split was not opened, so nothing is claimed of unseen items."
    n = f"{lift.change.n} test items"
    scores = f"{100 * lift.before.value:.1f} points with the seed and {100 * lift.after.value:.1f} with the best skill"
    if ledger.best.digest == ledger.seed.digest:
        return f"Training found nothing better than the seed skill: {100 * lift.before.value:.1f} points on {n}."
    change = lift.change
    word = "better" if change.low > 0 else "worse" if change.high < 0 else "not certainly different"
    return f"On {n}: {scores} ({metric}). Lift {points(change, signed=True)}, item by item: {word}."


def _selection(figures: Figures) -> tuple[str, ...]:
    found = figures.selection
    if found is None:
        return ()
    shrunk = found.shrunk
    bounds = f"{100 * shrunk.low:.1f} to {100 * shrunk.high:.1f}"
    lines = [
        f"As it won: {100 * shrunk.naive:.1f} points on {shrunk.n} selection items. It was chosen among "
        f"{shrunk.documents} measured documents for this score, so luck is in it.",
        f"Corrected: {100 * shrunk.value:.1f} points ({bounds}), what a second measurement would be expected to show "
        f"(shrunk; variance of one outcome {shrunk.noise:.3f}).",
    ]
    if found.replicate is not None:
        again = f"Measured afresh: {points(found.replicate)} on {found.replicate.n} items, no choice made by it."
        lines.append(again)
    return (*lines, f"The seed had {points(found.seed)} on the same items.")


def _change(judged: Judged) -> Change:
    decision = judged.decision
    rows = [public_row(edit) for edit in decision.patch.edits]
    edits = [
        (str(row.get("op") or row.get("title") or "document"), _text(row), str(row.get("why") or "")) for row in rows
    ]
    edits += [("note", note, "") for note in decision.patch.notes]
    score = "" if decision.objective is None else f"{100 * decision.objective:.1f} points"
    bar = "" if decision.bar is None or decision.action == "baseline" else f" against {100 * decision.bar:.1f}"
    n = f", {decision.tally.n} items" if decision.tally else ""
    kept = decision.action in _KEPT
    after = judged.after.current.text if kept else decision.candidate
    diff = "" if decision.action == "baseline" else unified(judged.state.current.text, after)
    title = "the seed" if decision.action == "baseline" else decision.action.replace("_", " ")
    return Change(
        decision.at, title, kept, f"{score}{bar}{n}" or "not measured", decision.reason,
        tuple(edits), decision.gained, decision.broken, diff,
    )  # fmt: skip


def _text(row: Mapping[str, JSON]) -> str:
    for name in ("content", "instruction", "new_skill"):
        if row.get(name):
            return str(row[name])
    return str(row.get("target") or "")


def _facts(ledger: Ledger, reopened: bool) -> tuple[tuple[str, str], ...]:
    view = ledger.view
    state = view.state
    opened = "opened at the end, and again by an ablation" if reopened else "opened once, at the end"
    began = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(view.sessions[0].started)) if view.sessions else "unknown"
    return (
        ("status", view.status.name),
        ("began", began),
        ("SkillOpt", view.started.skillopt if view.started else "unknown"),
        ("report made with Python", platform.python_version()),
        ("target", str(setting(view, "model", "target") or "unknown")),
        ("optimizer", str(setting(view, "model", "optimizer") or "unknown")),
        ("seed of every random choice", str(setting(view, "train", "seed"))),
        ("seed of the split", str(setting(view, "env", "split_seed"))),
        ("seed of the bootstrap", "0"),
        ("items", ", ".join(f"{view.plan[k]} {k}" for k in ("train", "val", "test") if k in view.plan)),
        ("best skill from", state.best_origin if state else "unknown"),
        ("test split", opened if view.rollouts_of("test") else "not opened"),
    )


def _digests(ledger: Ledger, checksum: str) -> tuple[tuple[str, str], ...]:
    started = ledger.view.started
    rows = [("journal (SHA-256)", checksum)] if checksum else []
    rows += [("seed skill", ledger.seed.digest), ("best skill", ledger.best.digest)]
    if started is not None:
        rows += [(f"data, {name}", value) for name, value in started.data.items()]
        rows += [(f"prompt {name}", value) for name, value in started.prompts.items()]
    return tuple(rows)


def _missing(ledger: Ledger) -> str:
    view = ledger.view
    parts = [
        f"{len(view.missing)} attempts without a result" if view.missing else "",
        f"{len(view.lost)} reflections that could not be used" if view.lost else "",
        f"{len(view.fallbacks)} merges or rankings done without the model" if view.fallbacks else "",
    ]
    return "; ".join(part for part in parts if part) or "none"
