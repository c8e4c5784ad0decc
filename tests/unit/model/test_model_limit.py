from __future__ import annotations

import asyncio

import pytest

from skillopt.errors import ModelError
from skillopt.model.gateway import build_gateway
from skillopt.model.limit import Limiter
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import Completion, Message, Request
from skillopt.types import Usage

REQUEST = Request((Message("user", "hello" * 100),), stage="rollout")
ANSWER = Completion("yes", Usage(1, 100, 20))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


async def answers(_: Request) -> Completion:
    return ANSWER


async def refuses(_: Request) -> Completion:
    await asyncio.sleep(0)
    raise ModelError("rate_limited", "slow down")


async def test_a_storm_halves_the_limit_once_and_answers_raise_it_again():
    limiter = Limiter(16)
    await asyncio.gather(*(limiter.run(refuses, REQUEST) for _ in range(16)), return_exceptions=True)
    assert limiter.limit == 8, "sixteen calls under way tell of one storm"
    for _ in range(3):
        with pytest.raises(ModelError):
            await limiter.run(refuses, REQUEST)
    assert limiter.limit == 1
    for _ in range(200):
        await limiter.run(answers, REQUEST)
    assert limiter.limit == 16, "never above what was asked for"


async def test_other_failures_do_not_lower_the_limit():
    limiter = Limiter(16)

    async def breaks(_: Request) -> Completion:
        raise ModelError("server", "oops")

    with pytest.raises(ModelError):
        await limiter.run(breaks, REQUEST)
    assert limiter.limit == 16


async def test_it_finds_what_a_server_can_carry():
    """A server that carries five at once refuses the sixth; after a while hardly any call is refused."""
    inside = refused = 0

    class Narrow:
        identity = "narrow"

        async def complete(self, request: Request) -> Completion:
            nonlocal inside, refused
            if inside >= 5:
                refused += 1
                raise ModelError("rate_limited", "slow down", retry_after=0.001)
            inside += 1
            await asyncio.sleep(0.001)
            inside -= 1
            return ANSWER

        async def close(self) -> None: ...

    gateway = build_gateway(Narrow(), concurrency=64, policy=RetryPolicy(50, base=0.001))
    await asyncio.gather(*(gateway.complete(REQUEST) for _ in range(300)))
    assert gateway.stats.calls == 300
    assert refused < 150


async def test_requests_per_minute():
    clock = Clock()
    limiter = Limiter(8, requests_per_minute=60, sleep=clock.sleep, clock=clock)
    for _ in range(30):
        await limiter.run(answers, REQUEST)
    assert clock.now == pytest.approx(24.0, abs=1.5), "a short burst is free, then one each second"


async def test_tokens_per_minute_counts_what_was_really_used():
    clock = Clock()
    limiter = Limiter(8, tokens_per_minute=6000, sleep=clock.sleep, clock=clock)
    for _ in range(50):
        await limiter.run(answers, REQUEST)
    used = 50 * ANSWER.usage.total_tokens
    assert clock.now == pytest.approx(used / 100 - 5.0, abs=3.0)


async def test_cancelled_waiters_leave_no_hole():
    limiter, door = Limiter(2), asyncio.Event()

    async def waits(_: Request) -> Completion:
        await door.wait()
        return ANSWER

    tasks = [asyncio.ensure_future(limiter.run(waits, REQUEST)) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    await asyncio.sleep(0)
    door.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(r, Completion) for r in results) == 13
    assert limiter.taken == 0
    assert await limiter.run(answers, REQUEST) is ANSWER
