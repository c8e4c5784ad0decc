"""The comparison as paired differences: candidate minus bar, item by item, and what the open items can still add.

Both documents meet the same items, so what makes an item hard for both cancels out. An item without a result on either
side is in neither sum.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.evaluation.gates.evidence import Evidence
from skillopt.evaluation.objective import Objective
from skillopt.skill.document import Skill
from skillopt.types import Item

ROUNDING = 1e-9
"""Sums of partial credit are compared with this much tolerance."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The `differences` on items that both have been attempted on; `hopes` are the most that each `open` item can add.

    `candidate` and `incumbent` are the sums of the two sides; `most` and `least` what all open items can add.
    """

    differences: list[float]
    hopes: list[float]
    total: float
    squares: float
    open: tuple[Item, ...]
    most: float
    least: float
    candidate: float
    incumbent: float

    @property
    def n(self) -> int:
        return len(self.differences)

    @property
    def size(self) -> int:
        """Pairs there will be, once every open item has been attempted."""
        return self.n + len(self.open)

    @property
    def whole(self) -> bool:
        """All differences are -1, 0 or 1."""
        return {0.0, 1.0, -1.0}.issuperset(self.differences)

    @property
    def means(self) -> tuple[float, float] | None:
        """Candidate and bar over the pairs seen."""
        return (self.candidate / self.n, self.incumbent / self.n) if self.n else None


def paired(evidence: Evidence, objective: Objective) -> Pairs:
    outcomes, incumbent, value = evidence.outcomes, evidence.incumbent, objective.of_item
    seen = [
        (new.score, old.score)
        for digest, new in outcomes.items()
        if new.score is not None and (old := incumbent.get(digest)) is not None and old.score is not None
    ]
    ours, theirs = [value(new) for new, _ in seen], [value(old) for _, old in seen]
    differences = [new - old for new, old in zip(ours, theirs, strict=True)]
    both = outcomes.keys() & incumbent.keys()
    still = tuple([i for i in evidence.sequence if i.digest not in both])
    known = [incumbent[i.digest].score for i in still if i.digest in incumbent]
    bars = [value(score) for score in known if score is not None]
    # Where the bar has not been attempted everything is possible.
    unknown = len(still) - len(known)
    hopes = [1.0 - bar for bar in bars] + [1.0] * unknown
    return Pairs(
        differences=differences,
        hopes=hopes,
        total=sum(differences),
        squares=sum([d * d for d in differences]),
        open=still,
        most=sum(hopes),
        least=-unknown - sum(bars),
        candidate=sum(ours),
        incumbent=sum(theirs),
    )


def handicap(evidence: Evidence, objective: Objective) -> float:
    """What each item's difference is short of the objective's: the bonus for wording, which no item shows."""
    bar = evidence.state.bar_document or evidence.state.current
    return objective.bonus(evidence.candidate.skill) - objective.bonus(bar)


def shorter(candidate: Skill, bar: Skill | None) -> bool:
    return bar is not None and len(candidate.text) < len(bar.text)
