"""Measuring: training rollouts for the analysts, and the gate that gathers evidence until its policy has decided."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from skillopt.datasets.plan import Batch
from skillopt.engine.contest import contest
from skillopt.engine.run import Run, recordable
from skillopt.journal.events import Decided
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.rollout.runner import Place, Stage
from skillopt.skill.document import Skill
from skillopt.types import Action, Decision, Patch, Rollout, StepDigest


class Remember(Protocol):
    """What a step leaves in the optimizer's memory, once its outcome is known."""

    def __call__(
        self, *, action: Action, patch: Patch, score_before: float | None, score_after: float | None
    ) -> StepDigest: ...


@dataclass(slots=True)
class Trail:
    """A stage's results in item order; `seen` keeps them for whoever comes after the analysts."""

    stage: Stage
    seen: list[Rollout] = field(default_factory=list[Rollout])

    async def __aiter__(self) -> AsyncIterator[Rollout]:
        async for rollout in self.stage:
            self.seen.append(rollout)
            yield rollout


async def training_rollouts(run: Run, skill: Skill, batch: Batch) -> Trail:
    """Start the step's attempts; the draw is the batch part, so an item met again is attempted again."""
    await run.mark(batch.id, "rollout", sum(len(part.items) for part in batch.parts))
    groups = [(Place(part.id, "train", part.id), part.items) for part in batch.parts]
    return Trail(run.rollouts.start(skill, groups))


async def gate(
    run: Run,
    state: State,
    candidate: Candidate,
    *,
    at: str,
    remember: Remember | None = None,
    tried: Sequence[Rollout] = (),
) -> State:
    """Gather evidence until the policy has decided; only a recorded decision moves the state."""
    return state.apply(await decide(run, state, candidate, at=at, remember=remember, tried=tried))


async def decide(
    run: Run,
    state: State,
    candidate: Candidate,
    *,
    at: str,
    remember: Remember | None = None,
    tried: Sequence[Rollout] = (),
) -> Decision:
    """The candidate with its rivals; and where nothing was kept, the parts of the best patch, if that is wanted."""

    async def effect() -> Decided:
        field = (candidate, *candidate.rivals)
        decision, others = await contest(run, state, field, at=at, tried=tried)
        if decision.action == "reject" and (parts := _parts(run, field, decision)):
            part, more = await contest(run, state, parts, at=at, tried=tried)
            kept = part.action.startswith("accept")
            decision, others = (part, (decision, *others, *more)) if kept else (decision, (*others, part, *more))
        await _record(run, at, others)
        return Decided(decision=_remembered(decision, others, state, remember) if remember else decision)

    return (await run.journal.once(f"{at}/decision", effect)).decision


def _parts(run: Run, field: Sequence[Candidate], decision: Decision) -> tuple[Candidate, ...]:
    """What is left to try of the best rejected patch."""
    best = next(candidate for candidate in field if candidate.skill.text == decision.candidate)
    tried = {candidate.skill.digest for candidate in field}
    parts = best.parts(run.config.optimizer.retry_parts)
    return tuple(part for part in parts if part.skill.digest not in tried)


async def _record(run: Run, at: str, others: Sequence[Decision]) -> None:
    """Candidates that were not kept have a record of their own; it moves nothing."""
    for number, decision in enumerate(others, start=2):
        place = f"{at}/candidate{number}"
        await run.journal.once(f"{place}/decision", recordable(Decided(decision=replace(decision, at=place))))


def _remembered(decision: Decision, others: Sequence[Decision], state: State, remember: Remember) -> Decision:
    memory = remember(
        action=decision.action,
        patch=decision.patch,
        # Half a measurement is compared with the bar on the same half.
        score_before=decision.bar if decision.partial else state.bar,
        score_after=decision.objective,
    )
    if decision.action == "reject" and others:
        memory = replace(memory, also_rejected=tuple(o.patch.edits for o in others if o.action == "reject"))
    return replace(decision, memory=memory)
