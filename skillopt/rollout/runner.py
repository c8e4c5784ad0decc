"""The forward pass: all items of a stage, side by side, each result recorded once under its content key.

A wrong answer is a score; a provider that failed after all retries is missing data. Missing results are recorded only
when the stage as a whole is sound. If most attempts fail for one reason the stage stops at once and records none of
them, so that starting again tries them anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from skillopt.agents.base import Agent
from skillopt.envs.base import Benchmark
from skillopt.errors import ModelError, SkillOptError, StageStopped
from skillopt.journal.events import RolloutDone, StageStarted
from skillopt.journal.log import Journal
from skillopt.model.types import FATAL
from skillopt.skill.document import Skill
from skillopt.types import Failure, Item, Rollout

_SYSTEMIC_AT_LEAST = 5
"""Fewer failures than this are never called systemic: a small stage may have bad luck."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a group of rollouts is for: its place in the run, the stage's name in the accounts, and the draw."""

    at: str
    stage: str
    draw: str


@dataclass(frozen=True, slots=True)
class Runner:
    """`slots` bounds the attempts under way over all stages of the run; `max_missing` is a share of a stage's items."""

    benchmark: Benchmark
    agent: Agent
    journal: Journal
    slots: asyncio.Semaphore
    max_missing: float = 0.2

    def start(self, skill: Skill, groups: Sequence[tuple[Place, Sequence[Item]]]) -> Stage:
        """Start every attempt; the stage hands results out in item order while later ones still run."""
        wanted = [_Wanted(place, item, skill) for place, items in groups for item in items]
        return Stage(self, wanted)

    async def run(self, skill: Skill, items: Sequence[Item], place: Place) -> tuple[Rollout, ...]:
        """All results of one group, in item order."""
        await self.journal.once(f"{place.at}/{place.stage}/started", _started(place, len(items)))
        stage = self.start(skill, [(place, items)])
        return tuple([rollout async for rollout in stage])

    def known(self, skill_digest: str, items: Sequence[Item], draw: str) -> dict[str, Rollout]:
        """Results already on record, by item digest."""
        found: dict[str, Rollout] = {}
        for item in items:
            body = self.journal.recorded(_key(skill_digest, item, draw))
            if isinstance(body, RolloutDone):
                found[item.digest] = body.rollout
        return found

    async def attempt(self, wanted: _Wanted) -> Rollout:
        """One recorded rollout; a provider failure comes back unrecorded, for the stage to judge."""

        async def effect() -> RolloutDone:
            async with self.slots:
                rollout = await self._judged(wanted)
            return RolloutDone(at=wanted.place.at, stage=wanted.place.stage, rollout=rollout)

        try:
            return (await self.journal.once(wanted.key, effect)).rollout
        except ModelError as error:
            if error.kind in FATAL:
                raise
            return wanted.rollout(failure=Failure(error.kind, str(error)))

    async def _judged(self, wanted: _Wanted) -> Rollout:
        began = time.monotonic()
        attempt = await self.benchmark.attempt(wanted.item, wanted.skill.text, self.agent)
        try:
            score = self.benchmark.score(wanted.item, attempt)
        except Exception as error:
            raise SkillOptError(
                f"the grader of {self.benchmark.name} failed on item {wanted.item.id!r}: {type(error).__name__}: {error}. "
                "Nothing was recorded for this item; mend the grader or the item and start again."
            ) from error
        return Rollout(
            item=wanted.item.id,
            item_digest=wanted.item.digest,
            skill=wanted.skill.digest,
            draw=wanted.place.draw,
            kind=wanted.item.kind,
            score=score,
            failure=None,
            answer=attempt.answer,
            trajectory=attempt.trajectory,
            usage=attempt.usage,
            seconds=round(time.monotonic() - began, 3),
            turns=attempt.turns,
        )


@dataclass(frozen=True, slots=True)
class _Wanted:
    place: Place
    item: Item
    skill: Skill

    @property
    def key(self) -> str:
        return _key(self.skill.digest, self.item, self.place.draw)

    def rollout(self, *, failure: Failure) -> Rollout:
        return Rollout(
            self.item.id, self.item.digest, self.skill.digest, self.place.draw, self.item.kind, None, failure
        )


@dataclass(slots=True)
class Stage:
    """A stage under way. Iterate it once: results come in item order; leaving early cancels what still runs."""

    runner: Runner
    wanted: list[_Wanted]
    _failures: Counter[str] = field(default_factory=Counter[str])
    _finished: int = 0

    async def __aiter__(self) -> AsyncIterator[Rollout]:
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tasks = [asyncio.ensure_future(self._watched(w, alarm)) for w in self.wanted]
        try:
            for wanted, task in zip(self.wanted, tasks, strict=True):
                rollout = await _first(task, alarm)
                if rollout.failure is not None:
                    rollout = await self._settle(wanted, rollout, tasks, alarm)
                yield rollout
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not alarm.done():
                alarm.cancel()
            elif not alarm.cancelled():
                alarm.exception()

    async def _watched(self, wanted: _Wanted, alarm: asyncio.Future[None]) -> Rollout:
        """One attempt; an error, or the failure that makes the stage systemic, rings the alarm for everybody."""
        try:
            rollout = await self.runner.attempt(wanted)
        except SkillOptError as error:
            if not alarm.done():
                alarm.set_exception(error)
            raise
        self._finished += 1
        if rollout.failure is not None:
            self._failures[rollout.failure.kind] += 1
            self._ring_if_systemic(rollout.failure, alarm)
        return rollout

    def _ring_if_systemic(self, last: Failure, alarm: asyncio.Future[None]) -> None:
        count = self._failures[last.kind]
        if count >= _SYSTEMIC_AT_LEAST and count * 2 > self._finished and not alarm.done():
            where = f"{self.wanted[0].place.at}, stage {self.wanted[0].place.stage}"
            alarm.set_exception(
                StageStopped(
                    f"{count} of {self._finished} attempts failed with '{last.kind}' ({where}); the last said: "
                    f"{last.message}. Nothing was scored from these. Mend the cause and run the same command again: "
                    "it continues here."
                )
            )

    async def _settle(
        self, wanted: _Wanted, rollout: Rollout, tasks: list[asyncio.Task[Rollout]], alarm: asyncio.Future[None]
    ) -> Rollout:
        """A missing result is recorded only once the whole stage is known to be sound."""
        rows = [await _first(task, alarm) for task in tasks]
        missing = [r for r in rows if r.failure is not None]
        if len(missing) > self.runner.max_missing * len(rows):
            kinds = ", ".join(f"{n} x {kind}" for kind, n in self._failures.most_common())
            message = missing[-1].failure.message if missing[-1].failure else ""
            raise StageStopped(
                f"{len(missing)} of {len(rows)} items have no result ({kinds}) at {wanted.place.at}, more than "
                f"evaluation.max_missing = {self.runner.max_missing} allows; the last said: {message}. "
                "Run the same command again to try them anew."
            )
        journal = self.runner.journal
        if not journal.has(wanted.key):
            body = RolloutDone(at=wanted.place.at, stage=wanted.place.stage, rollout=rollout)
            await journal.append(wanted.key, body)
        return rollout


async def _first(task: asyncio.Task[Rollout], alarm: asyncio.Future[None]) -> Rollout:
    """The task's result, unless the alarm rings first."""
    if not task.done() and not alarm.done():
        await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
    if alarm.done():
        alarm.result()
    return task.result()


def _key(skill_digest: str, item: Item, draw: str) -> str:
    return f"rollout/{skill_digest}/{item.digest}/{draw}"


def _started(place: Place, of: int):
    async def effect() -> StageStarted:
        return StageStarted(at=place.at, stage=place.stage, of=of)

    return effect
