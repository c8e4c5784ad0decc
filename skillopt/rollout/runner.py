"""The forward pass: all items of a stage, side by side, each result recorded once under its content key.

A wrong answer is a score; a provider that failed after all retries is missing data. Missing results are recorded only
when the stage as a whole is sound. If most attempts fail for one reason the stage stops at once and records none of
them, so that starting again tries them anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from skillopt.agents.base import Agent
from skillopt.envs.base import Benchmark
from skillopt.errors import BudgetExhausted, ModelError, SkillOptError, StageStopped
from skillopt.journal.events import RolloutDone
from skillopt.journal.log import Journal
from skillopt.model.types import FATAL, Provider
from skillopt.rollout.executors.base import Executor
from skillopt.rollout.executors.local import HERE
from skillopt.skill.document import Skill
from skillopt.types import Attempt, Failure, Item, Rollout, Score

_SYSTEMIC_AT_LEAST = 5
"""Fewer failures than this are never called systemic: a small stage may have bad luck."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a group of rollouts is for: its place in the run, the stage's name in the accounts, and the draw."""

    at: str
    stage: str
    draw: str


class Bank(Protocol):
    """Outcomes of earlier runs, by content key."""

    async def get(self, key: str) -> Rollout | None: ...

    async def put(self, key: str, rollout: Rollout) -> None: ...


@dataclass(frozen=True, slots=True)
class Runner:
    """`slots`, of which there are `workers`, bound the attempts under way over all stages of the run.

    `max_missing` is a share of a stage's items.
    """

    benchmark: Benchmark
    agent: Agent
    journal: Journal
    slots: asyncio.Semaphore
    workers: int
    max_missing: float = 0.2
    judge: Provider | None = None
    """The model that benchmarks may grade with."""
    executor: Executor = HERE
    bank: Bank | None = None

    def start(self, skill: Skill, groups: Sequence[tuple[Place, Sequence[Item]]]) -> Stage:
        """Start every attempt; the stage hands results out in item order while later ones still run."""
        text, digest = skill.text, skill.digest
        wanted = [_Wanted(place, item, text, digest) for place, items in groups for item in items]
        return Stage(self, wanted)

    async def run(self, skill: Skill, items: Sequence[Item], place: Place) -> tuple[Rollout, ...]:
        """All results of one group, in item order."""
        stage = self.start(skill, [(place, items)])
        return tuple([rollout async for rollout in stage])

    def known(self, skill_digest: str, items: Sequence[Item], draw: str, *, besides: str = "") -> dict[str, Rollout]:
        """Results already on record, by item digest; those made at the place `besides` are left out."""
        found: dict[str, Rollout] = {}
        for item in items:
            body = self.journal.recorded(_key(skill_digest, item, draw))
            if isinstance(body, RolloutDone) and body.at != besides:
                found[item.digest] = body.rollout
        return found

    async def attempt(self, wanted: _Wanted) -> Rollout:
        """One recorded rollout; a provider failure comes back unrecorded, for the stage to judge."""

        fresh: list[Rollout] = []

        async def effect() -> RolloutDone:
            kept = await self.bank.get(wanted.key) if self.bank else None
            if kept is not None:
                return RolloutDone(at=wanted.place.at, stage=wanted.place.stage, rollout=kept, source="bank")
            fresh.append(rollout := await self._judged(wanted))
            return RolloutDone(at=wanted.place.at, stage=wanted.place.stage, rollout=rollout)

        try:
            body = await self.journal.once(wanted.key, effect)
            if self.bank is not None and fresh:
                # Only what this run's own journal holds: a crash in between must not make paid work look free.
                await self.bank.put(wanted.key, body.rollout)
            return body.rollout
        except ModelError as error:
            if error.kind in FATAL:
                raise
            return wanted.rollout(failure=Failure(error.kind, str(error)))

    async def _judged(self, wanted: _Wanted) -> Rollout:
        began = time.monotonic()
        agent, shown = self.agent.holding(wanted.skill)
        attempt = await self.executor.attempt(self.benchmark, wanted.item, shown, agent)
        try:
            judgement = await self.benchmark.judged(wanted.item, attempt, self.judge)
        except SkillOptError:
            raise
        except Exception as error:
            raise SkillOptError(
                f"the grader of {self.benchmark.name} failed on item {wanted.item.id!r}: {type(error).__name__}: "
                f"{error}. Nothing was recorded for this item; mend the grader or the item and start again."
            ) from error
        return Rollout(
            item=wanted.item.id,
            item_digest=wanted.item.digest,
            skill=wanted.skill_digest,
            draw=wanted.place.draw,
            kind=wanted.item.kind,
            score=_noted(judgement.score, attempt),
            failure=None,
            answer=attempt.answer,
            trajectory=attempt.trajectory,
            usage=attempt.usage,
            seconds=round(time.monotonic() - began, 3),
            turns=attempt.turns,
            judging=judgement.usage,
            task=self.benchmark.describe(wanted.item),
        )


@dataclass(frozen=True, slots=True)
class _Wanted:
    place: Place
    item: Item
    skill: str
    skill_digest: str

    @property
    def key(self) -> str:
        return _key(self.skill_digest, self.item, self.place.draw)

    def rollout(self, *, failure: Failure) -> Rollout:
        item = self.item
        return Rollout(item.id, item.digest, self.skill_digest, self.place.draw, item.kind, None, failure)


@dataclass(slots=True)
class Stage:
    """A stage under way. Iterate it once: results come in item order; leaving early cancels what still runs."""

    runner: Runner
    wanted: list[_Wanted]
    _results: list[asyncio.Future[Rollout]] = field(default_factory=list[asyncio.Future[Rollout]])
    _failures: Counter[str] = field(default_factory=Counter[str])
    _finished: int = 0
    _open: bool = True
    """False: no further attempt is started."""

    async def __aiter__(self) -> AsyncIterator[Rollout]:
        loop = asyncio.get_running_loop()
        self._results = [loop.create_future() for _ in self.wanted]
        todo = iter(zip(self.wanted, self._results, strict=True))
        hands = [loop.create_task(self._work(todo)) for _ in range(min(len(self.wanted), self.runner.workers))]
        try:
            for wanted, result in zip(self.wanted, self._results, strict=True):
                rollout = await result
                if rollout.failure is not None:
                    rollout = await self._settle(wanted, rollout)
                yield rollout
        except BudgetExhausted:
            # No further attempt is started, but what is under way is paid for: it is waited for and recorded.
            self._open = False
            await asyncio.gather(*hands, return_exceptions=True)
            raise
        finally:
            for hand in hands:
                hand.cancel()
            await asyncio.gather(*hands, return_exceptions=True)

    async def _work(self, todo: Iterator[tuple[_Wanted, asyncio.Future[Rollout]]]) -> None:
        """One pair of hands: the next attempt, then the next. Ten thousand items never mean ten thousand tasks."""
        slots = self.runner.slots
        while self._open:
            async with slots:
                # Taken in hand only with a slot, so that attempts start in item order.
                if not self._open or (following := next(todo, None)) is None:
                    return
                await self._watched(*following)

    async def _watched(self, wanted: _Wanted, result: asyncio.Future[Rollout]) -> None:
        """One attempt; an error, or the failure that makes the stage systemic, ends the stage for all of them."""
        try:
            rollout = await self.runner.attempt(wanted)
            self._finished += 1
            if rollout.failure is not None:
                self._check_systemic(rollout.failure)
        except Exception as error:  # noqa: BLE001 - it is raised to whoever reads the stage
            self._fail(error)
        else:
            if not result.done():
                result.set_result(rollout)

    def _fail(self, error: Exception) -> None:
        self._open = False
        for result in self._results:
            if not result.done():
                result.set_exception(error)
                # Only the first one is waited for; the others count as seen.
                result.exception()

    def _check_systemic(self, last: Failure) -> None:
        self._failures[last.kind] += 1
        count = self._failures[last.kind]
        if count < _SYSTEMIC_AT_LEAST or count * 2 <= self._finished:
            return
        place = self.wanted[0].place
        raise StageStopped(
            f"{count} of {self._finished} attempts failed with '{last.kind}' ({place.at}, stage {place.stage}); "
            f"the last said: {last.message}. Nothing was scored from these. Mend the cause and run the same command "
            "again: it continues here."
        )

    async def _settle(self, wanted: _Wanted, rollout: Rollout) -> Rollout:
        """A missing result is recorded only once the whole stage is known to be sound."""
        rows = [await result for result in self._results]
        messages = [r.failure.message for r in rows if r.failure is not None]
        if len(messages) > self.runner.max_missing * len(rows):
            kinds = ", ".join(f"{n} x {kind}" for kind, n in self._failures.most_common())
            raise StageStopped(
                f"{len(messages)} of {len(rows)} items have no result ({kinds}) at {wanted.place.at}, more than "
                f"evaluation.max_missing = {self.runner.max_missing} allows; the last said: {messages[-1]}. "
                "Run the same command again to try them anew."
            )

        async def missing() -> RolloutDone:
            return RolloutDone(at=wanted.place.at, stage=wanted.place.stage, rollout=rollout)

        # Another stage that wanted the same attempt may have recorded it meanwhile, even with a score.
        return (await self.runner.journal.once(wanted.key, missing)).rollout


def _noted(score: Score, attempt: Attempt) -> Score:
    """The score with what only the agent knows: whether a skill that it had to look for itself was read."""
    if attempt.skill_read is None:
        return score
    return replace(score, detail={**score.detail, "skill_read": attempt.skill_read})


def _key(skill_digest: str, item: Item, draw: str) -> str:
    return f"rollout/{skill_digest}/{item.digest}/{draw}"
