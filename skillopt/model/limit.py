"""How many calls an endpoint carries at once, and the gate that closes for all of them when one is told to wait.

Without the shared gate every call in the queue would find out about a 429 by running into it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from skillopt.errors import ModelError
from skillopt.model.types import Completion, Provider, Request

LONGEST_PAUSE = 60.0
"""A server that asks for an hour is asked again sooner: the run then stops with its message, not in silence."""


class Limit:
    """A provider with `n` slots. A call takes a slot only while it is being answered."""

    def __init__(
        self,
        provider: Provider,
        n: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if n < 1:
            raise ValueError(f"a limit needs at least one slot, not {n}")
        self._provider = provider
        self._slots = asyncio.Semaphore(n)
        self._opens_at = 0.0
        self._sleep, self._clock = sleep, clock

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: Request) -> Completion:
        while True:
            await self._slots.acquire()
            try:
                pause = self._opens_at - self._clock() if self._opens_at else 0.0
                if pause <= 0.0:
                    return await self._provider.complete(request)
            except ModelError as error:
                if error.kind == "rate_limited" and error.retry_after:
                    self._close_gate(error.retry_after)
                raise
            finally:
                self._slots.release()
            await self._sleep(pause)

    def _close_gate(self, seconds: float) -> None:
        self._opens_at = max(self._opens_at, self._clock() + min(seconds, LONGEST_PAUSE))
