"""Gathering evidence: all candidates of a step side by side, as far as the gate's policy asks.

The bar's outcomes that a contest itself pays for count only once its policy has asked for them, so that a resumed
contest sees what the first one saw, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.engine.run import Run
from skillopt.evaluation.gates import Evidence, Wanted, judged, wanted_by
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.rollout.runner import Place
from skillopt.skill.document import Skill
from skillopt.together import together
from skillopt.types import Decision, Item, Rollout

Verdicts = tuple[Decision, tuple[Decision, ...]]


async def contest(
    run: Run, state: State, candidates: Sequence[Candidate], *, at: str, tried: Sequence[Rollout] = ()
) -> Verdicts:
    """The decision to go on with, and those of the other candidates. `tried` are the step's own attempts."""
    known = run.rollouts.known(state.bar_skill, run.val, "val", besides=at)
    field = [
        Evidence(at, state, candidate, run.val, known, order=run.order, claims=claims(run, candidate, tried))
        for candidate in candidates
    ]
    while any(wants := wanted_by(run.gate, field)):
        await run.mark(at, "evaluate", len(run.val) * len(candidates))
        field = await together(_gathered(run, each, wanted) for each, wanted in zip(field, wants, strict=True))
    return judged(run.gate, field)


def claims(run: Run, candidate: Candidate, tried: Sequence[Rollout]) -> tuple[Item, ...]:
    """The step's failures that the candidate's edits name as their reason."""
    named = {item for edit in candidate.patch.edits for item in edit.support}
    failed = {row.item for row in tried if row.score is not None and not row.score.passed}
    return tuple(item for item in run.splits.train if item.id in named & failed)


async def _gathered(run: Run, evidence: Evidence, wanted: Wanted) -> Evidence:
    skill, bar, at = evidence.candidate.skill, evidence.state.bar_document, evidence.at
    rows, theirs, claimed, again = await together(
        (
            _attempted(run, skill, wanted.candidate, Place(at, "val", "val")),
            _attempted(run, bar or skill, wanted.incumbent if bar else (), Place(at, "gate", "val")),
            _attempted(run, skill, wanted.claims, Place(at, "gate", at)),
            _attempted(run, skill, wanted.again, Place(at, "gate", "val-again")),
        )
    )
    return evidence.add(rows, incumbent=theirs, claimed=claimed, repeated=again)


async def _attempted(run: Run, skill: Skill, items: tuple[Item, ...], place: Place) -> tuple[Rollout, ...]:
    return await run.rollouts.run(skill, items, place) if items else ()
