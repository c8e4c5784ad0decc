"""Only what is proven: an anytime-valid paired test by betting, with one error rate for the whole run.

A gambler who bets on the candidate's items against the bar's multiplies a stake of 1. Where the candidate is no better,
the stake exceeds 1/a with probability a at most, however often one looks (Ville). Each look of the run, a candidate,
gets an equal share of `alpha`, so all acceptances of a run are true with probability 1 - alpha. Certainty costs: a
small selection split can prove very little, and `promise` says how much before anything is spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt.evaluation.gates.evidence import NOTHING, Evidence, Wanted
from skillopt.evaluation.gates.pairs import Pairs, paired
from skillopt.evaluation.gates.race import next_block
from skillopt.evaluation.gates.verdict import accepted, idle, measured
from skillopt.evaluation.objective import Objective
from skillopt.types import Action, Decision

_STAKES = tuple((2 * k + 1) / 32 for k in range(16))
"""Shares of the wealth that are bet; their mean is a bet on an unknown effect, and as valid as each of them."""


@dataclass(frozen=True, slots=True)
class Certified:
    """`looks` is the number of candidates the run may judge; `alpha` is shared out among them."""

    objective: Objective
    alpha: float = 0.05
    looks: int = 1
    block: int = 0

    def wants(self, evidence: Evidence) -> Wanted:
        if evidence.unchanged:
            return NOTHING
        if evidence.first:
            return Wanted(evidence.unmeasured)
        pairs = paired(evidence, self.objective)
        seen = pairs.differences
        # Proven already, or not even winning everything that is still open would prove it.
        if not pairs.open or _wealth(seen) >= self.price or _wealth(seen + pairs.hopes) < self.price:
            return NOTHING
        return next_block(evidence, pairs.open, self.block)

    def decide(self, evidence: Evidence) -> Decision:
        if evidence.unchanged:
            return idle(evidence)
        if evidence.first:
            return measured(evidence, self.objective, "baseline", "the score to beat")
        pairs = paired(evidence, self.objective)
        bar = pairs.means[1] if pairs.means else None
        return measured(evidence, self.objective, *self._verdict(evidence, pairs), bar)

    @property
    def price(self) -> float:
        """The wealth at which a candidate counts as proven."""
        return self.looks / self.alpha

    def promise(self, n: int) -> str:
        """What this gate can accept on a split of n items, in plain words."""
        needed = fewest_gains(self.price)
        share = f"error rate {self.alpha:g} over {self.looks} candidates"
        if needed > n:
            return (
                f"gate: certified cannot accept anything on {n} selection items ({share}): even {n} items gained and "
                f"none lost prove too little; it takes {needed}. Use gate: race, or a larger selection split."
            )
        return (
            f"gate: certified on {n} selection items ({share}) accepts a candidate that gains at least {needed} items "
            f"({100 * needed / n:.0f} points) and loses none; with losses it takes more."
        )

    def _verdict(self, evidence: Evidence, pairs: Pairs) -> tuple[Action, str]:
        if pairs.means is None:
            return "reject", "no item has a result on both sides"
        score, bar = pairs.means
        wealth = _wealth(pairs.differences)
        said = f"{score:.4f} against {bar:.4f} on {pairs.n} items: evidence {wealth:.3g}, needed {self.price:.3g}"
        if wealth < self.price:
            return "reject", said
        return accepted(evidence.state, score), said


def fewest_gains(price: float) -> int:
    """How many items must be gained, with none lost, before the wealth reaches the price."""
    gains = 0
    while math.fsum((1 + stake) ** gains for stake in _STAKES) / len(_STAKES) < price:
        gains += 1
    return gains


def _wealth(differences: list[float]) -> float:
    """The mean wealth over all stakes. Pass and fail need only counts, which is quicker and the same."""
    up, down = differences.count(1.0), differences.count(-1.0)
    fortunes = [(1 + stake) ** up * (1 - stake) ** down for stake in _STAKES]
    for d in differences:
        if d not in (-1.0, 0.0, 1.0):
            fortunes = [fortune * (1 + stake * d) for fortune, stake in zip(fortunes, _STAKES, strict=True)]
    return math.fsum(fortunes) / len(_STAKES)
