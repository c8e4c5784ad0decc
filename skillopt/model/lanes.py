"""Who may use which slot of a local model, and in what order: requests that share a skill follow one another.

Reading a skill takes most of a small model's time, so a slot changes its skill only when nobody waits for the old one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Lane:
    """One slot. `prefix` is the beginning it holds in its cache; None when nothing is known of it."""

    slot: int
    prefix: str | None = None


@dataclass(slots=True)
class Lanes:
    count: int
    _free: list[Lane] = field(default_factory=list[Lane])
    _waiting: list[tuple[str, asyncio.Future[Lane]]] = field(default_factory=list[tuple[str, asyncio.Future[Lane]]])

    def __post_init__(self) -> None:
        self._free = [Lane(slot) for slot in range(self.count)]

    @asynccontextmanager
    async def use(self, prefix: str) -> AsyncGenerator[Lane, None]:
        """A lane for one request, the one that knows the prefix if it is free. A failure forgets what it holds."""
        lane = await self._take(prefix)
        try:
            yield lane
        except BaseException:
            lane.prefix = None
            raise
        finally:
            self._give(lane)

    async def _take(self, prefix: str) -> Lane:
        if self._free:
            lane = next((lane for lane in self._free if lane.prefix == prefix), self._free[0])
            self._free.remove(lane)
            return lane
        turn: asyncio.Future[Lane] = asyncio.get_running_loop().create_future()
        entry = (prefix, turn)
        self._waiting.append(entry)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give(turn.result())
            else:
                self._waiting.remove(entry)
            raise

    def _give(self, lane: Lane) -> None:
        if not self._waiting:
            self._free.append(lane)
            return
        entry = next((entry for entry in self._waiting if entry[0] == lane.prefix), self._waiting[0])
        self._waiting.remove(entry)
        entry[1].set_result(lane)
