"""`Run`: everything the loop is given. The loop decides nothing; variants are values in here, put together by `app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TypeVar

from skillopt.config.schema import Config
from skillopt.datasets.checks import Splits
from skillopt.datasets.plan import Batch, epoch_plan, steps_per_epoch
from skillopt.evaluation.gates import Gate, spread
from skillopt.evaluation.objective import Objective
from skillopt.gradient.desk import Desk
from skillopt.gradient.miner import Analysts
from skillopt.journal.context import Context
from skillopt.journal.events import MetaSkillWritten, StageStarted
from skillopt.journal.log import Journal
from skillopt.journal.state import State
from skillopt.optimizer.recipe import Optimizer
from skillopt.rollout.runner import Runner
from skillopt.skill.document import Skill
from skillopt.types import Decision, Item

T = TypeVar("T")

EpochPass = Callable[["Run", "EpochEnd"], Coroutine[None, None, Decision | MetaSkillWritten | None]]
"""Work at an epoch's end; its record, if any, moves the state."""


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """An epoch that has just ended: the skill it opened with, and the state it left."""

    epoch: int
    opening: Skill
    state: State


@dataclass(frozen=True, slots=True)
class Run:
    config: Config
    journal: Journal
    splits: Splits
    seed_skill: Skill
    rollouts: Runner
    desk: Desk
    reflect: Analysts
    optimizer: Optimizer
    gate: Gate
    objective: Objective
    epoch_passes: tuple[EpochPass, ...]

    @property
    def val(self) -> tuple[Item, ...]:
        return _first(self.splits.val, self.config.evaluation.sel_env_num)

    @property
    def order(self) -> tuple[Item, ...]:
        """The order in which the gate looks at the selection items."""
        return spread(self.val, self.config.train.seed)

    @property
    def test(self) -> tuple[Item, ...]:
        return _first(self.splits.test, self.config.evaluation.test_env_num)

    @property
    def total_steps(self) -> int:
        train = self.config.train
        return train.num_epochs * steps_per_epoch(len(self.splits.train), train.batch_size, train.accumulation)

    def batches(self, epoch: int) -> tuple[Batch, ...]:
        """The epoch's batches: a function of the seed alone."""
        train = self.config.train
        return epoch_plan(
            self.splits.train,
            epoch=epoch,
            batch_size=train.batch_size,
            accumulation=train.accumulation,
            seed=train.seed,
        )

    def is_over(self, state: State) -> bool:
        """Early stopping: out of patience, or good enough on a whole measurement."""
        wanted = self.config.train.stop_at_score
        solved = wanted is not None and state.whole and state.bar is not None and state.bar >= wanted
        return solved or 0 < self.config.train.patience <= state.stale

    def context(self, state: State, batch: Batch) -> Context:
        scope = self.config.train.memory_scope
        return Context(batch.id, batch.step, batch.epoch, self.total_steps, state, scope)

    async def mark(self, at: str, stage: str, of: int) -> None:
        """Record that a stage has begun: progress takes its total from this, timing its start."""

        await self.journal.once(f"{at}/{stage}/started", recordable(StageStarted(at=at, stage=stage, of=of)))


def recordable(body: T) -> Callable[[], Awaitable[T]]:
    """An effect that is already known, for `once`."""

    async def effect() -> T:
        return body

    return effect


def _first(items: tuple[Item, ...], n: int) -> tuple[Item, ...]:
    return items[:n] if n else items
