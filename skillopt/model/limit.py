"""How many calls an endpoint carries at once: it finds out by itself, and everybody who calls it shares what it found.

Every answer raises the limit a little, every 429 halves it, never above what was asked for. A call that is told to wait
closes the gate for all: otherwise each of them would find out about the 429 by running into it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from skillopt.errors import ModelError
from skillopt.model.tokens import estimate
from skillopt.model.types import Completion, Provider, Request

LONGEST_PAUSE = 60.0
"""A server that asks for an hour is asked again sooner: the run then stops with its message, not in silence."""
BURST_SECONDS = 5.0
"""What may be sent at once after a pause, in seconds of the allowed rate."""

Sleep = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]


class Pace:
    """At most so much per minute. Each call books its turn, so sleepers wake one by one and not all together."""

    def __init__(self, per_minute: float, clock: Clock) -> None:
        self._per_second = per_minute / 60.0
        self._clock = clock
        self._next = float("-inf")

    def book(self, amount: float) -> float:
        """Seconds until the turn of a call that uses `amount`."""
        now = self._clock()
        turn = max(self._next, now - BURST_SECONDS)
        self._next = turn + amount / self._per_second
        return max(0.0, turn - now)

    def correct(self, amount: float) -> None:
        """The call used so much more (or less) than was booked."""
        self._next += amount / self._per_second


class Limiter:
    """What all calls to one endpoint share: slots, the gate and the pace. Belongs to one event loop."""

    def __init__(
        self,
        most: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = time.monotonic,
    ) -> None:
        if most < 1:
            raise ValueError(f"a limit needs at least one slot, not {most}")
        self._most = most
        self._limit = float(most)
        self._taken = 0
        self._storm = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._opens_at = 0.0
        self._requests = Pace(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Pace(tokens_per_minute, clock) if tokens_per_minute else None
        self._sleep, self._clock = sleep, clock

    @property
    def limit(self) -> int:
        """How many calls may be in flight now."""
        return int(self._limit)

    @property
    def taken(self) -> int:
        return self._taken

    async def run(self, call: Callable[[Request], Awaitable[Completion]], request: Request) -> Completion:
        """Make the call when it is its turn; a call that waits at the gate or for its turn holds no slot."""
        expected = estimate(request) if self._tokens else 0
        if self._requests or self._tokens:
            await self._turn(expected)
        while True:
            if self._waiting or self._taken >= self.limit:
                await self._acquire()
            else:
                self._taken += 1
            storm = self._storm
            try:
                pause = self._opens_at - self._clock() if self._opens_at else 0.0
                if pause <= 0.0:
                    completion = await call(request)
                    self._succeeded(completion, expected)
                    return completion
            except ModelError as error:
                self._failed(error, storm)
                raise
            finally:
                self._release()
            await self._sleep(pause)

    async def _turn(self, expected: int) -> None:
        waits = [pace.book(n) for pace, n in ((self._requests, 1), (self._tokens, expected)) if pace]
        if waits and (wait := max(waits)) > 0:
            await self._sleep(wait)

    def _succeeded(self, completion: Completion, expected: int) -> None:
        if self._limit < self._most:
            self._limit = min(float(self._most), self._limit + 1.0 / self._limit)
        if self._tokens and completion.usage.total_tokens:
            self._tokens.correct(completion.usage.total_tokens - expected)

    def _failed(self, error: ModelError, storm: int) -> None:
        overloaded = error.kind == "rate_limited" or (error.kind == "server" and error.retry_after is not None)
        if not overloaded:
            return
        if error.retry_after:
            pause = min(error.retry_after, LONGEST_PAUSE)
            self._opens_at = max(self._opens_at, self._clock() + pause)
        if storm == self._storm:
            # Calls that were under way when the limit fell tell of the same storm; they do not lower it again.
            self._storm += 1
            self._limit = max(1.0, min(self._limit, self._taken) / 2)

    async def _acquire(self) -> None:
        """Wait in line for a slot; whoever leaves one takes it in the next one's name."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._release()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _release(self) -> None:
        self._taken -= 1
        if self._waiting:
            self._wake()

    def _wake(self) -> None:
        while self._waiting and self._taken < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)


class Limit:
    """A provider behind a limiter; a number makes a limiter of its own."""

    def __init__(
        self,
        provider: Provider,
        limiter: Limiter | int,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = time.monotonic,
    ) -> None:
        self._provider = provider
        self.limiter = Limiter(limiter, sleep=sleep, clock=clock) if isinstance(limiter, int) else limiter

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: Request) -> Completion:
        return await self.limiter.run(self._provider.complete, request)
