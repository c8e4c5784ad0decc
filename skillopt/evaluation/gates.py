"""What to keep. A gate policy is pure: evidence so far in, the items it still wants or a decision out.

`Strict` is the paper's gate: one pass over the selection split, kept only when strictly better. Items without a
result are left out on both sides of the comparison, so a provider's bad minute cannot decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.evaluation.objective import Objective
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.types import Action, Decision, Item, Rollout, Tally


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a policy may look at. Outcomes are keyed by item digest; `incumbent` holds the bar's own outcomes."""

    at: str
    state: State
    candidate: Candidate
    items: tuple[Item, ...]
    incumbent: Mapping[str, Rollout] = field(default_factory=dict[str, Rollout])
    outcomes: Mapping[str, Rollout] = field(default_factory=dict[str, Rollout])

    def add(self, rollouts: tuple[Rollout, ...]) -> Evidence:
        merged = {**self.outcomes, **{r.item_digest: r for r in rollouts}}
        return Evidence(self.at, self.state, self.candidate, self.items, self.incumbent, merged)

    @property
    def unchanged(self) -> bool:
        return self.state.bar is not None and self.candidate.skill.digest == self.state.current.digest


class Gate(Protocol):
    """`wants` returns the items to attempt next (none = enough is known); `decide` turns evidence into a decision."""

    def wants(self, evidence: Evidence) -> tuple[Item, ...]: ...

    def decide(self, evidence: Evidence) -> Decision: ...


@dataclass(frozen=True, slots=True)
class Strict:
    objective: Objective
    enabled: bool = True
    """False is `use_gate: false`: the candidate is still measured, and then kept whatever it scored."""

    def wants(self, evidence: Evidence) -> tuple[Item, ...]:
        if evidence.unchanged:
            return ()
        return tuple(i for i in evidence.items if i.digest not in evidence.outcomes)

    def decide(self, evidence: Evidence) -> Decision:
        if evidence.unchanged:
            return _decision(evidence, *_idle(evidence.candidate))
        rows = tuple(evidence.outcomes[i.digest] for i in evidence.items if i.digest in evidence.outcomes)
        score, bar = self._compare(evidence, rows)
        action, reason = self._verdict(evidence.state, score, bar)
        objective = self.objective.of(Tally.of(rows), evidence.candidate.skill)
        return _decision(evidence, action, reason, objective, bar, Tally.of(rows), rows)

    def _compare(self, evidence: Evidence, rows: tuple[Rollout, ...]) -> tuple[float | None, float | None]:
        """Candidate and bar on the items both have a result for; without gaps these are the recorded scores."""
        measured = {r.item_digest for r in rows if r.score is not None}
        known = {d for d, r in evidence.incumbent.items() if r.score is not None}
        whole = self.objective.of(Tally.of(rows), evidence.candidate.skill)
        if not known or measured == known:
            return whole, evidence.state.bar
        both = measured & known
        score = self.objective.of(Tally.of(r for r in rows if r.item_digest in both), evidence.candidate.skill)
        bar_rows = (r for d, r in evidence.incumbent.items() if d in both)
        return score, self.objective.of(Tally.of(bar_rows), evidence.state.current)

    def _verdict(self, state: State, score: float | None, bar: float | None) -> tuple[Action, str]:
        if state.bar is None:
            return "baseline", "the score to beat"
        if score is None or bar is None:
            return "reject", "no item has a result on both sides"
        if not self.enabled:
            return "force_accept", f"the gate is off (score {score:.4f}, bar {bar:.4f})"
        if score <= bar:
            return "reject", f"{score:.4f} is not above {bar:.4f}"
        best = state.bar_skill == state.best.digest or state.best_score is None or score > state.best_score
        return ("accept_new_best" if best else "accept"), f"{score:.4f} is above {bar:.4f}"


def _idle(candidate: Candidate) -> tuple[Action, str]:
    """Why a candidate is the document it came from."""
    if candidate.lost is not None:
        return "skip_no_rewrite", candidate.lost
    if candidate.patch.edits or candidate.patch.notes:
        return "skip_no_change", "nothing that was selected changes the document"
    if candidate.proposed:
        return "skip_no_change", f"none of {candidate.proposed} proposals was selected"
    return "skip_no_patches", "the analysts proposed nothing"


def _decision(
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
    )


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
