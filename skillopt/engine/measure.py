"""Measuring: training rollouts for the analysts, and the gate that gathers evidence until its policy has decided."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from skillopt.datasets.plan import Batch
from skillopt.engine.run import Run
from skillopt.evaluation.gates import Evidence
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


async def gate(run: Run, state: State, candidate: Candidate, *, at: str, remember: Remember | None = None) -> State:
    """Gather evidence until the policy has decided; only a recorded decision moves the state."""
    return state.apply(await decide(run, state, candidate, at=at, remember=remember))


async def decide(
    run: Run, state: State, candidate: Candidate, *, at: str, remember: Remember | None = None
) -> Decision:
    async def effect() -> Decided:
        incumbent = run.rollouts.known(state.bar_skill, run.val, "val")
        evidence = Evidence(at, state, candidate, run.val, incumbent)
        while wanted := run.gate.wants(evidence):
            await run.mark(at, "evaluate", len(run.val))
            rows = await run.rollouts.run(candidate.skill, wanted, Place(at, "val", "val"))
            evidence = evidence.add(rows)
        decision = run.gate.decide(evidence)
        return Decided(decision=_remembered(decision, state, remember) if remember else decision)

    return (await run.journal.once(f"{at}/decision", effect)).decision


def _remembered(decision: Decision, state: State, remember: Remember) -> Decision:
    memory = remember(
        action=decision.action, patch=decision.patch, score_before=state.bar, score_after=decision.objective
    )
    return replace(decision, memory=memory)
