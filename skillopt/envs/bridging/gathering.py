"""Attempts that are asked for at the same time, given to one rollout: for adapters that are slow to start.

One call is under way at a time, as the guide's trainer has it; what is asked for meanwhile makes up the next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from skillopt.envs.bridging.calls import Outcome
from skillopt.types import Item

_PAUSE = 0.01
"""Seconds in which attempts that start together have all asked."""


@dataclass(frozen=True, slots=True)
class _Asked:
    item: Item
    skill: str
    answer: asyncio.Future[Outcome]


@dataclass(slots=True)
class Gathering:
    """`size` is the most one rollout is given: items of one split under one skill."""

    roll: Callable[[Sequence[Item], str], Awaitable[dict[str, Outcome]]]
    size: int
    _waiting: deque[_Asked] = field(default_factory=deque[_Asked])
    _worker: asyncio.Task[None] | None = None

    async def __call__(self, item: Item, skill: str) -> Outcome:
        loop = asyncio.get_running_loop()
        asked = _Asked(item, skill, loop.create_future())
        self._waiting.append(asked)
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await asked.answer

    async def _work(self) -> None:
        await asyncio.sleep(_PAUSE)
        while group := self._next():
            try:
                found = await self.roll([asked.item for asked in group], group[0].skill)
            except asyncio.CancelledError:
                for asked in group:
                    asked.answer.cancel()
                raise
            except Exception as error:  # noqa: BLE001 - it is raised to whoever asked
                for asked in group:
                    if not asked.answer.done():
                        asked.answer.set_exception(error)
            else:
                for asked in group:
                    if not asked.answer.done():
                        asked.answer.set_result(found[asked.item.id])

    def _next(self) -> list[_Asked]:
        """The first that waits and others like it; who was cancelled meanwhile is left out."""
        waiting = [asked for asked in self._waiting if not asked.answer.done()]
        group: dict[str, _Asked] = {}
        for asked in waiting:
            alike = asked.skill == waiting[0].skill and asked.item.split == waiting[0].item.split
            # An item that is asked for twice is attempted twice, and results are told apart by their ids.
            if alike and asked.item.id not in group and len(group) < self.size:
                group[asked.item.id] = asked
        chosen = {id(asked) for asked in group.values()}
        self._waiting = deque(asked for asked in waiting if id(asked) not in chosen)
        return list(group.values())
