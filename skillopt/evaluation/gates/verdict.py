"""From evidence to the decision that is recorded: scores, flips, and why a candidate is no candidate at all."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.evaluation.gates.evidence import Evidence
from skillopt.evaluation.objective import Objective
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.types import Action, Decision, Rollout, Tally


def idle(evidence: Evidence) -> Decision:
    """The candidate is the document it came from: there is nothing to measure."""
    return decision(evidence, *_why_idle(evidence.candidate))


def accepted(state: State, score: float) -> Action:
    """Whether an accepted candidate is also the best: it beat the best document itself, or its score is higher."""
    best = state.bar_skill == state.best.digest or state.best_score is None or score > state.best_score
    return "accept_new_best" if best else "accept"


def measured(
    evidence: Evidence, objective: Objective, action: Action, reason: str, bar: float | None = None
) -> Decision:
    """A decision with the candidate's score over the items it was measured on, and how many it might have been."""
    rows = evidence.rows
    tally = Tally.of(rows)
    return decision(evidence, action, reason, objective.of(tally, evidence.candidate.skill), bar, tally, rows)


def decision(
    evidence: Evidence,
    action: Action,
    reason: str,
    objective: float | None = None,
    bar: float | None = None,
    tally: Tally | None = None,
    rows: tuple[Rollout, ...] = (),
) -> Decision:
    candidate = evidence.candidate
    gained, broken = _flips(evidence, rows)
    return Decision(
        at=evidence.at,
        action=action,
        candidate=candidate.skill.text,
        parent=candidate.parent.digest,
        origin=candidate.origin,
        objective=objective,
        tally=tally,
        bar=bar if bar is not None else evidence.state.bar,
        reason=reason,
        patch=candidate.patch,
        reports=candidate.reports,
        gained=gained,
        broken=broken,
        of=len(evidence.items) if tally is not None else None,
    )


def best_of(decisions: Sequence[Decision]) -> int:
    """The place of the one to go on with: an accepted one before a rejected one, then the larger shrunk lift.

    Candidates may have been measured on different numbers of items; shrinking keeps a lucky few from winning. Of equals
    the first one is taken.
    """
    ranks = [(_kept(each), _lift(each)) for each in decisions]
    return max(range(len(decisions)), key=lambda place: (*ranks[place], -place))


_DOUBT = 8
"""Items without a difference that every lift is averaged with."""


def _kept(each: Decision) -> int:
    return 2 if each.action.startswith(("accept", "force")) else 1 if each.action == "reject" else 0


def _lift(each: Decision) -> float:
    if each.objective is None or each.bar is None or each.tally is None:
        return float("-inf")
    return (each.objective - each.bar) * each.tally.n / (each.tally.n + _DOUBT)


def _why_idle(candidate: Candidate) -> tuple[Action, str]:
    if candidate.lost is not None:
        return "skip_no_rewrite", candidate.lost
    if candidate.patch.edits or candidate.patch.notes:
        return "skip_no_change", "nothing that was selected changes the document"
    if candidate.proposed:
        return "skip_no_change", f"none of {candidate.proposed} proposals was selected"
    return "skip_no_patches", "the analysts proposed nothing"


def _flips(evidence: Evidence, rows: tuple[Rollout, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Item ids that went from fail to pass, and from pass to fail, against the bar's own outcomes."""
    gained: list[str] = []
    broken: list[str] = []
    for row in rows:
        before = evidence.incumbent.get(row.item_digest)
        if row.score is None or before is None or before.score is None or before.score.passed == row.score.passed:
            continue
        (gained if row.score.passed else broken).append(row.item)
    return tuple(gained), tuple(broken)
