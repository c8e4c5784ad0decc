"""The one retry policy of the house: full jitter, Retry-After, a deadline, and only for failures that may pass.

A 429 that says how long to wait costs no attempt, only time: a storm ends when the server says so, not after six tries.
"""

from __future__ import annotations

import asyncio
import logging
import random as randomness
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from skillopt.errors import ModelError
from skillopt.model.meter import Stats
from skillopt.model.types import TRANSIENT, BilledError, Completion, Provider, Request
from skillopt.types import Usage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`deadline` bounds what one call may take with all its attempts and waits; `cap` bounds one drawn wait."""

    max_attempts: int = 6
    deadline: float = 600.0
    base: float = 0.5
    cap: float = 30.0


class Retry:
    """A provider that asks again. A wait holds no slot of the endpoint: `Limit` is inside, not outside."""

    def __init__(
        self,
        provider: Provider,
        policy: RetryPolicy | None = None,
        *,
        stats: Stats | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._policy = policy or RetryPolicy()
        self._stats = stats if stats is not None else Stats()
        self._sleep, self._random, self._clock = sleep, random, clock

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: Request) -> Completion:
        # One attempt is never cut short: a caller that allows 900 s means it.
        left = max(self._policy.deadline, request.timeout or 0.0)
        attempts = failures = 0
        wasted = Usage()
        while True:
            within = left if request.timeout is None else min(left, request.timeout)
            attempt = request if within == request.timeout else replace(request, timeout=within)
            started = self._clock()
            try:
                completion = await self._provider.complete(attempt)
                return _with_retries(completion, failures, wasted) if failures else completion
            except ModelError as error:
                if error.kind not in TRANSIENT:
                    raise
                failures += 1
                wasted += error.usage if isinstance(error, BilledError) else Usage()
                attempts += not _is_told_to_wait(error)
                # An attempt runs no longer than its own time; the rest was queueing, which is not held against it.
                left -= min(self._clock() - started, within)
                wait = self._wait(error, failures)
                if attempts >= self._policy.max_attempts or wait >= left:
                    raise _tired(error, failures) from error
                log.info("%s call failed (%s), attempt %d in %.1f s", request.stage, error.kind, failures + 1, wait)
            self._stats.retries += 1
            await self._sleep(wait)
            left -= wait

    def _wait(self, error: ModelError, failures: int) -> float:
        drawn = self._random() * min(self._policy.cap, self._policy.base * 2 ** min(failures - 1, 30))
        return drawn + (error.retry_after or 0.0)


def _is_told_to_wait(error: ModelError) -> bool:
    return error.kind == "rate_limited" and error.retry_after is not None


def _with_retries(completion: Completion, failures: int, wasted: Usage) -> Completion:
    """The answer with what its failed attempts cost. A failed attempt is a retry in the accounts, not a call."""
    paid = replace(wasted, calls=0, retries=failures)
    return replace(completion, usage=completion.usage + paid)


def _tired(error: ModelError, failures: int) -> ModelError:
    attempts = "1 attempt" if failures == 1 else f"{failures} attempts"
    return ModelError(error.kind, f"{error} (gave up after {attempts})", retry_after=error.retry_after)
