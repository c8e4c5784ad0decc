"""The paper's gate: one pass over the selection split, kept only when strictly better; and no gate at all.

A candidate that can no longer win is stopped: the decision is the one a whole pass would have led to, for less. Looks
are taken only where an answer is possible, so most of the split is still attempted at once. Items without a result are
left out on both sides of the comparison, so a provider's bad minute cannot decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt.evaluation.gates.evidence import NOTHING, Evidence, Wanted
from skillopt.evaluation.gates.pairs import ROUNDING, Pairs, handicap, paired, shorter
from skillopt.evaluation.gates.verdict import accepted, idle, measured
from skillopt.evaluation.objective import Objective
from skillopt.types import Action, Decision, Item, Tally

_ROUND = 16
"""Fewer items than this are not worth a look of their own."""


@dataclass(frozen=True, slots=True)
class Strict:
    """`tie_margin` is the loss, as a share of the items, that a shorter document may have; None gives no tie away."""

    objective: Objective
    tie_margin: float | None = None

    def wants(self, evidence: Evidence) -> Wanted:
        if evidence.unchanged:
            return NOTHING
        if evidence.first or not evidence.incumbent:
            return Wanted(evidence.unmeasured)
        pairs = paired(evidence, self.objective)
        if self._lost(evidence, pairs):
            return NOTHING
        return Wanted(self._until_the_next_look(evidence, pairs))

    def decide(self, evidence: Evidence) -> Decision:
        if evidence.unchanged:
            return idle(evidence)
        score, bar = compared(evidence, self.objective)
        action, reason = self._verdict(evidence, score, bar)
        return measured(evidence, self.objective, action, reason, bar)

    def _needs(self, evidence: Evidence, pairs: Pairs) -> float:
        """The sum of differences that the whole split must exceed."""
        return -pairs.size * (handicap(evidence, self.objective) + self._tie(evidence))

    def _tie(self, evidence: Evidence) -> float:
        if self.tie_margin is None or not shorter(evidence.candidate.skill, evidence.state.bar_document):
            return 0.0
        return self.tie_margin + ROUNDING

    def _lost(self, evidence: Evidence, pairs: Pairs) -> bool:
        reach, needs = pairs.total + pairs.most, self._needs(evidence, pairs)
        sure = needs == 0.0 and pairs.whole and float(reach).is_integer()
        return bool(pairs.open) and reach <= (needs if sure else needs - ROUNDING * max(1, pairs.size))

    def _until_the_next_look(self, evidence: Evidence, pairs: Pairs) -> tuple[Item, ...]:
        """Items up to the first place at which the candidate may have lost. Each failure costs one item's hope."""
        hope = pairs.total + pairs.most - self._needs(evidence, pairs)
        enough = max(_ROUND, math.ceil(hope))
        if len(pairs.open) - enough < _ROUND:
            return evidence.unmeasured
        next_ones = {item.digest for item in pairs.open[:enough]}
        return tuple(i for i in evidence.unmeasured if i.digest in next_ones)

    def _verdict(self, evidence: Evidence, score: float | None, bar: float | None) -> tuple[Action, str]:
        if evidence.first:
            return "baseline", "the score to beat"
        if score is None or bar is None:
            return "reject", "no item has a result on both sides"
        missing = len(evidence.unmeasured)
        if missing:
            seen = f"{len(evidence.items) - missing} of {len(evidence.items)} items"
            return "reject", f"{score:.4f} on {seen} cannot come to more than the bar ({bar:.4f} on them) any more"
        if score > bar:
            return accepted(evidence.state, score), f"{score:.4f} is above {bar:.4f}"
        tie = self._tie(evidence)
        if tie and score >= bar - tie:
            return accepted(evidence.state, score), f"{score:.4f} against {bar:.4f}, and the document is shorter"
        return "reject", f"{score:.4f} is not above {bar:.4f}"


@dataclass(frozen=True, slots=True)
class Off:
    """`gate: off`: the candidate is still measured, and then kept whatever it scored."""

    objective: Objective

    def wants(self, evidence: Evidence) -> Wanted:
        return NOTHING if evidence.unchanged else Wanted(evidence.unmeasured)

    def decide(self, evidence: Evidence) -> Decision:
        if evidence.unchanged:
            return idle(evidence)
        if evidence.first:
            return measured(evidence, self.objective, "baseline", "the score to beat")
        score, bar = compared(evidence, self.objective)
        if score is None or bar is None:
            return measured(evidence, self.objective, "reject", "no item has a result on both sides")
        reason = f"the gate is off (score {score:.4f}, bar {bar:.4f})"
        return measured(evidence, self.objective, "force_accept", reason, bar)


def compared(evidence: Evidence, objective: Objective) -> tuple[float | None, float | None]:
    """Candidate and bar on the items both have a result for; without gaps these are the recorded scores."""
    rows = evidence.rows
    scored = {r.item_digest for r in rows if r.score is not None}
    known = {d for d, r in evidence.incumbent.items() if r.score is not None}
    whole = objective.of(Tally.of(rows), evidence.candidate.skill)
    if not known or scored == known:
        return whole, evidence.state.bar
    both = scored & known
    score = objective.of(Tally.of(r for r in rows if r.item_digest in both), evidence.candidate.skill)
    bar_rows = (r for d, r in evidence.incumbent.items() if d in both)
    return score, objective.of(Tally.of(bar_rows), evidence.state.current)
