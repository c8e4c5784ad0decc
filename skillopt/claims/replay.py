"""Decisions made again from the evidence on record: the same policy, the same outcomes, no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.claims.ledger import VAL, Judged, Ledger, Row
from skillopt.evaluation.gates import Evidence, Gate, spread
from skillopt.optimizer.candidate import Candidate
from skillopt.skill.document import Skill
from skillopt.types import Decision, Item, Rollout, Tally

CANDIDATE = "/candidate"
"""What the place of a step's further candidates has after the step's own."""
BEHIND = "another patch of the step"
"""What the reason of such a candidate says."""
AGAIN = "val-again"
"""The draw of an anchor's second attempt."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The gate of the steps and that of gated slow updates; None where this installation cannot build them."""

    steps: Gate | None = None
    slow: Gate | None = None
    seed: int = 0

    def of(self, at: str) -> Gate | None:
        return self.slow if at.startswith("slow/") else self.steps


def again(ledger: Ledger, judged: Judged, policies: Policies) -> Decision | None:
    """The decision that the recorded evidence leads to; None where no policy was asked.

    Evidence is all that was on record by then. What a crash left beyond what the policy had asked for would show, so
    where that disagrees the policy is led through its own questions, in its own order.
    """
    said = judged.decision
    gate = policies.of(said.at)
    if gate is None or said.tally is None or said.at == "final":
        return None
    whole = _evidence(ledger, judged, policies.seed)
    found = _placed(gate.decide(whole), said)
    return found if _agrees(found, said) else _placed(_led(gate, whole), said)


def _placed(found: Decision, said: Decision) -> Decision:
    """A candidate that was good enough, beside one of the same step that was better, is recorded as rejected."""
    behind = said.action == "reject" and BEHIND in said.reason
    kept = found.action.startswith(("accept", "force"))
    return replace(found, action="reject", reason=said.reason) if behind and kept else found


def _agrees(one: Decision, two: Decision) -> bool:
    return one.action == two.action and one.tally == two.tally


def tally_of(ledger: Ledger, judged: Judged) -> Tally:
    """The candidate's outcomes on record when it was judged."""
    rows = _known(ledger.rows, judged, Skill.parse(judged.decision.candidate).digest)
    return Tally.of(rows[i.digest] for i in items(ledger) if i.digest in rows)


def items(ledger: Ledger) -> tuple[Item, ...]:
    """The selection items as the journal names them, in the order they were first met."""
    found: dict[str, Item] = {}
    for row in ledger.rows:
        r = row.rollout
        if r.draw == VAL and r.item_digest not in found:
            found[r.item_digest] = Item(r.item, VAL, r.kind, {}, r.item_digest)
    return tuple(found.values())


def _evidence(ledger: Ledger, judged: Judged, seed: int) -> Evidence:
    decision, state = judged.decision, judged.state
    at = decision.at.partition(CANDIDATE)[0]
    skill = Skill.parse(decision.candidate)
    known, rows = items(ledger), ledger.rows
    claimed = _known(rows, judged, skill.digest, at)
    return Evidence(
        at=at,
        state=state,
        candidate=Candidate(skill, state.current, decision.patch, decision.reports, decision.origin),
        items=known,
        incumbent=_known(rows, judged, state.bar_skill),
        outcomes=_known(rows, judged, skill.digest),
        order=spread(known, seed),
        claims=tuple(Item(r.item, "train", r.kind, {}, digest) for digest, r in claimed.items()),
        claimed=claimed,
        repeated=_known(rows, judged, skill.digest, AGAIN),
    )


def _known(rows: Sequence[Row], judged: Judged, skill: str, draw: str = VAL) -> dict[str, Rollout]:
    before = (r for r in rows if r.seq < judged.seq and r.rollout.skill == skill and r.rollout.draw == draw)
    return {row.rollout.item_digest: row.rollout for row in before}


def _led(gate: Gate, whole: Evidence) -> Decision:
    """Give the policy only what it asks for, until it asks for nothing or for what nobody has."""
    evidence = replace(whole, outcomes={}, claimed={}, repeated={})
    while wanted := gate.wants(evidence):
        rows = _some(whole.outcomes, wanted.candidate)
        claimed, repeated = _some(whole.claimed, wanted.claims), _some(whole.repeated, wanted.again)
        if not rows and not claimed and not repeated:
            break
        evidence = evidence.add(rows, claimed=claimed, repeated=repeated)
    return gate.decide(evidence)


def _some(known: Mapping[str, Rollout], wanted: Sequence[Item]) -> list[Rollout]:
    return [known[item.digest] for item in wanted if item.digest in known]
