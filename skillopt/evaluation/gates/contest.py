"""Several patches of one step against the bar, on the same items: the first to be accepted ends it for all.

The strongest candidate is the first to be sure of winning, so whoever is still open then is behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.evaluation.gates.evidence import Evidence, Gate, Wanted
from skillopt.evaluation.gates.verdict import best_of
from skillopt.types import Decision


def wanted_by(gate: Gate, field: Sequence[Evidence]) -> tuple[Wanted, ...]:
    """What each candidate of the field needs next; nobody needs anything once one of them has won."""
    wants = tuple(gate.wants(evidence) for evidence in field)
    done = (evidence for evidence, wanted in zip(field, wants, strict=True) if not wanted)
    if any(wants) and any(gate.decide(evidence).action.startswith("accept") for evidence in done):
        return tuple(Wanted() for _ in field)
    return wants


def judged(gate: Gate, field: Sequence[Evidence]) -> tuple[Decision, tuple[Decision, ...]]:
    """The decision to go on with, and the others in their order; only one of a field is kept."""
    decisions = [gate.decide(evidence) for evidence in field]
    best = best_of(decisions)
    others = (_behind(each) for place, each in enumerate(decisions) if place != best)
    return decisions[best], tuple(others)


def _behind(decision: Decision) -> Decision:
    if not decision.action.startswith(("accept", "force")):
        return decision
    return replace(decision, action="reject", reason=f"{decision.reason}; another patch of the step was better")
