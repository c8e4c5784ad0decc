"""Two or more runs beside each other: curves, numbers, settings that differ, skills, and the paired difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from skillopt.config.compare import differences
from skillopt.evaluation.report import scores
from skillopt.evaluation.statistics import Interval, paired_bootstrap
from skillopt.journal.view import RunView
from skillopt.progress.words import duration
from skillopt.types import JSON
from skillopt_webui.charts import legend, score_chart
from skillopt_webui.pages.run import curve_of
from skillopt_webui.pages.words import number, signed, spent
from skillopt_webui.reading.follower import Follower
from skillopt_webui.text import diff_words

_RESAMPLES = 3000


@dataclass(frozen=True, slots=True)
class Named:
    id: str
    name: str
    follower: Follower


@dataclass(frozen=True, slots=True)
class Paired:
    """The best skill of one run against that of the first, on the items both have met."""

    name: str
    split: str
    change: Interval | None


def compare_page(runs: Sequence[Named], paired: Sequence[Paired]) -> dict[str, JSON]:
    curves = [curve_of(run.name, run.follower.ledger.verdicts, "") for run in runs]
    steps = max((run.follower.view.plan.get("total_steps", 0) for run in runs), default=1)
    first = runs[0]
    return {
        "runs": [(run.id, run.name) for run in runs],
        "chart": score_chart(curves, steps, "Best validation score so far, by step")
        if any(c.best for c in curves)
        else None,
        "legend": legend(curves),
        "figures": _figures(runs),
        "settings": _settings(runs),
        "paired": [_pair(pair) for pair in paired],
        "skills": [(run.name, diff_words(_best(first), _best(run)), _best(first) == _best(run)) for run in runs[1:]],
    }


def paired_with(first: Named, other: Named) -> Paired:
    """On test items where both runs opened them, else on validation items; None when they share none."""
    for split, place in (("test", "test"), ("validation", "val")):
        one, two = _best_scores(first.follower.view, place), _best_scores(other.follower.view, place)
        both = [item for item in one if item in two]
        if both:
            change = paired_bootstrap([one[i] for i in both], [two[i] for i in both], resamples=_RESAMPLES)
            return Paired(other.name, split, change)
    return Paired(other.name, "", None)


def _best_scores(view: RunView, stage: str) -> dict[str, float]:
    return scores(view.rollouts_of(stage), view.state.best.digest, "hard") if view.state else {}


def _pair(pair: Paired) -> dict[str, JSON]:
    change = pair.change
    if change is None:
        return {"name": pair.name, "known": False}
    sure = (
        "no difference can be told" if change.low <= 0 <= change.high else ("better" if change.value > 0 else "worse")
    )
    return {
        "name": pair.name, "known": True, "split": pair.split, "value": signed(change.value),
        "low": signed(change.low), "high": signed(change.high), "n": change.n, "words": sure,
    }  # fmt: skip


def _figures(runs: Sequence[Named]) -> list[tuple[str, list[str]]]:
    views = [run.follower.view for run in runs]
    return [
        ("Status", [v.status.name for v in views]),
        ("Steps", [f"{v.last_step} of {v.plan.get('total_steps', '?')}" for v in views]),
        ("Validation, start", [number(v.baseline.objective if v.baseline else None) for v in views]),
        ("Validation, best", [number(v.state.best_score if v.state else None) for v in views]),
        (
            "Test, start",
            [number(v.finished.baseline_test.hard if v.finished and v.finished.baseline_test else None) for v in views],
        ),
        (
            "Test, best",
            [number(v.finished.best_test.hard if v.finished and v.finished.best_test else None) for v in views],
        ),
        ("Spend", [spent(run.follower.ledger.total()) for run in runs]),
        ("Time", [duration(v.wall_time) for v in views]),
        ("Skill length", [f"{len(_best(run).split())} words" for run in runs]),
    ]


def _settings(runs: Sequence[Named]) -> list[tuple[str, list[str]]]:
    """Keys in which any run differs from the first."""
    resolved = [cast("dict[str, JSON]", run.follower.view.config.get("resolved") or {}) for run in runs]
    keys = dict.fromkeys(d.key for other in resolved[1:] for d in differences(resolved[0], other))
    return [(key, [_value(r, key) for r in resolved]) for key in keys]


def _value(resolved: dict[str, JSON], key: str) -> str:
    section, _, name = key.partition(".")
    value = (resolved.get(section) or {}).get(name)
    return "default" if value is None else str(value)


def _best(run: Named) -> str:
    state = run.follower.view.state
    return state.best.text if state else ""
