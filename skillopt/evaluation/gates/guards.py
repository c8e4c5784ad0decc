"""What any policy can be given besides: a screen before the first block, and items that must not be lost.

The screen tries the training failures that the edits say they mend: a candidate that mends none of them is not worth a
selection pass. An anchor that goes from pass to fail is attempted once more, so that one bad draw breaks nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.evaluation.gates.evidence import Evidence, Gate, Wanted
from skillopt.evaluation.gates.verdict import decision
from skillopt.types import Decision, Item, Rollout


@dataclass(frozen=True, slots=True)
class Guarded:
    """`screen` is the number of claims tried at most (0 = none); `anchors` are ids of selection items."""

    gate: Gate
    screen: int = 0
    anchors: frozenset[str] = frozenset()

    def wants(self, evidence: Evidence) -> Wanted:
        if evidence.first or evidence.unchanged:
            return self.gate.wants(evidence)
        untried = tuple(i for i in self._claims(evidence) if i.digest not in evidence.claimed)
        if untried:
            return Wanted(claims=untried)
        if self._mends_nothing(evidence):
            return Wanted()
        return self.gate.wants(evidence) or self._anchoring(evidence)

    def decide(self, evidence: Evidence) -> Decision:
        if evidence.first or evidence.unchanged:
            return self.gate.decide(evidence)
        if self._mends_nothing(evidence):
            tried = len(self._claims(evidence))
            return decision(evidence, "reject", f"mends none of the {tried} training failures its edits speak of")
        found = self.gate.decide(evidence)
        if lost := self._broken(evidence, confirmed=True):
            names = ", ".join(item.id for item in lost)
            reason = f"loses what must be kept: {names} (failed twice); otherwise {found.reason}"
            return replace(found, action="reject", reason=reason) if found.action.startswith("accept") else found
        return found

    def _claims(self, evidence: Evidence) -> tuple[Item, ...]:
        return evidence.claims[: self.screen]

    def _mends_nothing(self, evidence: Evidence) -> bool:
        scores = [evidence.claimed[i.digest].score for i in self._claims(evidence) if i.digest in evidence.claimed]
        known = [score for score in scores if score is not None]
        return bool(known) and not any(score.passed for score in known)

    def _anchoring(self, evidence: Evidence) -> Wanted:
        """Once the policy would accept: every anchor attempted, and those that failed attempted again."""
        held = [item for item in evidence.items if item.id in self.anchors]
        if not held or not self.gate.decide(evidence).action.startswith("accept"):
            return Wanted()
        new = tuple(i for i in held if i.digest not in evidence.outcomes)
        old = tuple(i for i in held if i.digest not in evidence.incumbent)
        if new or old:
            return Wanted(new, old)
        return Wanted(again=tuple(i for i in self._broken(evidence) if i.digest not in evidence.repeated))

    def _broken(self, evidence: Evidence, *, confirmed: bool = False) -> tuple[Item, ...]:
        def fails(row: Rollout | None) -> bool:
            return row is not None and row.score is not None and not row.score.passed

        def passes(row: Rollout | None) -> bool:
            return row is not None and row.score is not None and row.score.passed

        return tuple(
            item
            for item in evidence.items
            if item.id in self.anchors
            and passes(evidence.incumbent.get(item.digest))
            and fails(evidence.outcomes.get(item.digest))
            and (not confirmed or fails(evidence.repeated.get(item.digest)))
        )
