"""The comparison as paired differences: candidate minus bar, item by item, and what the open items can still add.

Both documents meet the same items, so what makes an item hard for both cancels out. An item without a result on either
side is in neither sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.evaluation.gates.evidence import Evidence
from skillopt.evaluation.objective import Objective
from skillopt.skill.document import Skill
from skillopt.types import Item, Rollout

ROUNDING = 1e-9
"""Sums of partial credit are compared with this much tolerance."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """`total` and `squares` are the sums of the differences and of their squares over the `n` pairs seen.

    `most` and `least` are what the `open` items can add at best and at worst; `whole` tells that all differences seen
    are -1, 0 or 1. `candidate` and `incumbent` are the sums of the two sides.
    """

    total: float
    squares: float
    n: int
    open: tuple[Item, ...]
    most: float
    least: float
    whole: bool
    candidate: float
    incumbent: float

    @property
    def size(self) -> int:
        """Pairs there will be, once every open item has been attempted."""
        return self.n + len(self.open)

    @property
    def means(self) -> tuple[float, float] | None:
        """Candidate and bar over the pairs seen."""
        return (self.candidate / self.n, self.incumbent / self.n) if self.n else None


def paired(evidence: Evidence, objective: Objective) -> Pairs:
    """The differences on the items that both have been attempted on."""
    outcomes, incumbent, value = evidence.outcomes, evidence.incumbent, objective.of_item
    seen = [
        (value(new.score), value(old.score))
        for digest, new in outcomes.items()
        if new.score is not None and (old := incumbent.get(digest)) is not None and old.score is not None
    ]
    differences = [new - old for new, old in seen]
    still = tuple(i for i in evidence.sequence if i.digest not in outcomes or i.digest not in incumbent)
    most, least = _reach(still, incumbent, objective)
    return Pairs(
        total=sum(differences),
        squares=sum(d * d for d in differences),
        n=len(seen),
        open=still,
        most=most,
        least=least,
        whole=all(d in (0.0, 1.0, -1.0) for d in differences),
        candidate=sum(new for new, _ in seen),
        incumbent=sum(old for _, old in seen),
    )


def _reach(items: tuple[Item, ...], incumbent: Mapping[str, Rollout], objective: Objective) -> tuple[float, float]:
    """What these items can add to the sum of differences, at best and at worst."""
    known = [row.score for i in items if (row := incumbent.get(i.digest)) is not None]
    bars = [objective.of_item(score) for score in known if score is not None]
    unknown = len(items) - len(known)
    return unknown + len(bars) - sum(bars), -unknown - sum(bars)


def handicap(evidence: Evidence, objective: Objective) -> float:
    """What each item's difference is short of the objective's: the bonus for wording, which no item shows."""
    bar = evidence.state.bar_document or evidence.state.current
    return objective.bonus(evidence.candidate.skill) - objective.bonus(bar)


def shorter(candidate: Skill, bar: Skill | None) -> bool:
    return bar is not None and len(candidate.text) < len(bar.text)
