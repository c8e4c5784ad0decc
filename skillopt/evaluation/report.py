"""What the test split says of a finished run: the seed and the best skill on the same items, and their difference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from skillopt.evaluation.statistics import Interval, mean_interval, paired_bootstrap
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill
from skillopt.types import Rollout

Metric = Literal["hard", "soft"]


@dataclass(frozen=True, slots=True)
class Lift:
    """`before` and `after` are over all items with a result, `change` over those with a result on both sides."""

    before: Interval
    after: Interval
    change: Interval


def lift_on_test(view: RunView, metric: Metric = "hard") -> Lift | None:
    """None where the test split was not opened, or no item has a result under both skills."""
    if view.finished is None or view.state is None:
        return None
    rows = view.rollouts("test", "test")
    before = scores(rows, Skill.parse(view.seed_skill).digest, metric)
    after = scores(rows, view.state.best.digest, metric)
    both = [item for item in before if item in after]
    if not both:
        return None
    change = paired_bootstrap([before[i] for i in both], [after[i] for i in both])
    if view.state.best.text == view.seed_skill:
        # One document, one set of results: there is nothing uncertain about no change.
        change = Interval(0.0, 0.0, 0.0, len(both))
    return Lift(mean_interval([*before.values()]), mean_interval([*after.values()]), change)


def scores(rows: Iterable[Rollout], skill: str, metric: Metric) -> dict[str, float]:
    """Item digest -> score, for one document."""
    found = {row.item_digest: row.score for row in rows if row.skill == skill and row.score is not None}
    return {item: score.hard if metric == "hard" else score.soft for item, score in sorted(found.items())}
