"""The strict comparison, taken in blocks of paired differences and ended as soon as its outcome is all but known.

After each block: how probable is it that the whole split would end above the bar? Below `gamma` the candidate is
rejected, above 1 - `gamma` accepted. The prediction uses the mean and the variance of the differences seen, both drawn
towards what is usual, so that a lucky first block decides nothing. What can no longer be won or lost ends at once.

An accepted candidate may know its outcomes on a part of the split only. It is the next bar all the same: comparisons
are paired, and where a later candidate gets further than it did, its missing outcomes are asked for then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from skillopt.evaluation.gates.evidence import NOTHING, Evidence, Wanted
from skillopt.evaluation.gates.pairs import ROUNDING, Pairs, handicap, paired, shorter
from skillopt.evaluation.gates.verdict import accepted, idle, measured
from skillopt.evaluation.objective import Objective
from skillopt.types import Action, Decision, Item

USUAL_VARIANCE = 0.15
"""Of a difference in [-1, 1] between two documents that are nearly alike; also the unit of the margin."""
_DOUBT = 10.0
"""Pairs without a difference that the mean seen is averaged with."""
_VARIANCE_DOUBT = 4.0
_LEAST = 8
"""Items in a block, unless another size is asked for: smaller ones decide too early, larger ones too late."""

Standing = Literal["won", "lost", "open"]


@dataclass(frozen=True, slots=True)
class Race:
    """`margin` is the lead a candidate must have, in units of sqrt(0.15 n) items.

    `block` is the number of items between two looks; 0 is a tenth of the split, and 8 at least.
    `tie_margin` is the loss, as a share of the items, that a shorter document may have; None gives no tie away.
    """

    objective: Objective
    gamma: float = 0.1
    margin: float = 0.0
    block: int = 0
    tie_margin: float | None = None

    def wants(self, evidence: Evidence) -> Wanted:
        if evidence.unchanged:
            return NOTHING
        if evidence.first:
            return Wanted(evidence.unmeasured)
        pairs = paired(evidence, self.objective)
        if not pairs.open or self.standing(evidence, pairs) != "open":
            return NOTHING
        return next_block(evidence, pairs.open, self.block)

    def decide(self, evidence: Evidence) -> Decision:
        if evidence.unchanged:
            return idle(evidence)
        if evidence.first:
            return measured(evidence, self.objective, "baseline", "the score to beat")
        pairs = paired(evidence, self.objective)
        document = evidence.state.bar_document or evidence.state.current
        bar = pairs.means[1] + self.objective.bonus(document) if pairs.means else None
        return measured(evidence, self.objective, *self._verdict(evidence, pairs), bar)

    def standing(self, evidence: Evidence, pairs: Pairs) -> Standing:
        needs = self.needs(evidence, pairs)
        if pairs.total + pairs.most <= needs:
            return "lost"
        if pairs.total + pairs.least > needs:
            return "won"
        chance = win_probability(pairs, needs)
        return "lost" if chance < self.gamma else "won" if chance > 1 - self.gamma else "open"

    def needs(self, evidence: Evidence, pairs: Pairs) -> float:
        """The sum of differences that the whole split must exceed: the margin, or less for a shorter document."""
        bonus = -pairs.size * handicap(evidence, self.objective)
        if self.tie_margin is not None and shorter(evidence.candidate.skill, evidence.state.bar_document):
            return bonus - pairs.size * self.tie_margin - ROUNDING
        return bonus + self.margin * math.sqrt(USUAL_VARIANCE * pairs.size) + ROUNDING

    def _verdict(self, evidence: Evidence, pairs: Pairs) -> tuple[Action, str]:
        if pairs.means is None:
            return "reject", "no item has a result on both sides"
        score, bar = pairs.means
        seen = f"{pairs.n} of {pairs.size} items" if pairs.open else f"{pairs.n} items"
        said = f"{score:.4f} against {bar:.4f} on {seen}"
        standing = self.standing(evidence, pairs)
        if standing != "won":
            why = ", unlikely to end above the bar" if standing == "lost" else ", and another patch of the step won"
            return "reject", said + (why if pairs.open else "")
        if pairs.total <= 0:
            said += ", and the document is shorter"
        whole = score + self.objective.bonus(evidence.candidate.skill)
        return accepted(evidence.state, whole), said


def win_probability(pairs: Pairs, needs: float) -> float:
    """The chance that the sum of all differences ends above `needs`, from those seen."""
    left = len(pairs.open)
    if not left:
        return 1.0 if pairs.total > needs else 0.0
    mean = pairs.total / (pairs.n + _DOUBT)
    spread = pairs.squares - pairs.total * pairs.total / pairs.n if pairs.n else 0.0
    variance = (spread + _VARIANCE_DOUBT * USUAL_VARIANCE) / (pairs.n + _VARIANCE_DOUBT)
    # The rest varies by itself, and with what is not known of the mean.
    deviation = math.sqrt(variance * left * (1 + left / (pairs.n + _DOUBT)))
    # Whole differences end on whole sums: the line runs between the last sum that loses and the first that wins.
    line = math.floor(needs) + 0.5 if pairs.whole else needs
    return 0.5 * math.erfc((line - pairs.total - left * mean) / (deviation * math.sqrt(2)))


def next_block(evidence: Evidence, open_items: tuple[Item, ...], block: int) -> Wanted:
    """The next items in the seeded order, for whichever side has no result on them yet."""
    size = block or max(_LEAST, -(-len(evidence.items) // 10))
    # A last block of a few items would cost a round of its own.
    taken = open_items if len(open_items) < size * 1.5 else open_items[:size]
    return Wanted(
        tuple(i for i in taken if i.digest not in evidence.outcomes),
        tuple(i for i in taken if i.digest not in evidence.incumbent),
    )
