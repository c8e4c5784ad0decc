from __future__ import annotations

import asyncio

import pytest

from skillopt.errors import ModelError
from skillopt.model.gateway import build_gateway
from skillopt.model.limit import Limit
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import Completion, Message, Request
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import Usage

REQUEST = Request((Message("user", "hello"),), stage="rollout")


class Busy:
    """A provider that answers when it is let go, and knows how many wait."""

    identity = "busy"

    def __init__(self) -> None:
        self.inside = self.most = 0
        self.door = asyncio.Event()

    async def complete(self, request: Request) -> Completion:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.door.wait()
        finally:
            self.inside -= 1
        return Completion("yes", Usage(calls=1, prompt_tokens=3, completion_tokens=2))

    async def close(self) -> None: ...


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_limit_limits_and_a_cancelled_waiter_takes_no_slot():
    busy = Busy()
    limit = Limit(busy, 3)
    calls = [asyncio.ensure_future(limit.complete(REQUEST)) for _ in range(10)]
    await settle()
    assert busy.inside == 3
    calls[0].cancel()
    calls[5].cancel()
    await settle()
    assert busy.inside == 3
    busy.door.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, Completion) for result in results) == 8
    assert busy.most == 3


async def test_one_429_closes_the_gate_for_the_whole_endpoint():
    now, slept = [100.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    provider = ScriptedProvider([ModelError("rate_limited", "wait", retry_after=5.0), "yes"])
    limit = Limit(provider, 1, sleep=sleep, clock=lambda: now[0])
    with pytest.raises(ModelError):
        await limit.complete(REQUEST)
    assert (await limit.complete(REQUEST)).text == "yes"
    assert slept == [5.0]


async def test_calls_that_wait_at_the_gate_hold_no_slot():
    woken = asyncio.Event()
    limit = Limit(
        ScriptedProvider([ModelError("rate_limited", "wait", retry_after=5.0)]), 1, sleep=lambda _: _wait(woken)
    )
    with pytest.raises(ModelError):
        await limit.complete(REQUEST)
    waiting = [asyncio.ensure_future(limit.complete(REQUEST)) for _ in range(3)]
    await settle()
    assert limit.limiter.taken == 0
    for call in waiting:
        call.cancel()
    await asyncio.wait(waiting)


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


async def test_a_sleeping_retry_holds_no_slot():
    answers = iter([ModelError("server", "no"), "second", "first"])
    provider = ScriptedProvider(lambda _: next(answers))
    gateway = build_gateway(provider, concurrency=1, policy=RetryPolicy(base=0.05))
    first, second = await asyncio.gather(gateway.complete(REQUEST), gateway.complete(REQUEST))
    assert (first.text, second.text) == ("first", "second")


async def test_stats_show_what_goes_on():
    busy = Busy()
    gateway = build_gateway(busy, concurrency=4)
    calls = [asyncio.ensure_future(gateway.complete(REQUEST)) for _ in range(6)]
    await settle()
    assert (gateway.stats.in_flight, gateway.stats.calls) == (4, 0)
    busy.door.set()
    await asyncio.gather(*calls)
    assert (gateway.stats.in_flight, gateway.stats.max_in_flight, gateway.stats.calls) == (0, 4, 6)
    assert gateway.stats.total.total_tokens == 30


async def test_errors_are_counted_by_kind_and_the_default_timeout_applies():
    provider = ScriptedProvider([ModelError("server", "no"), ModelError("auth", "no")])
    gateway = build_gateway(provider, policy=RetryPolicy(base=0.0), timeout=12.0)
    with pytest.raises(ModelError):
        await gateway.complete(REQUEST)
    assert gateway.stats.errors == {"server": 1, "auth": 1}
    assert gateway.stats.retries == 1
    assert [request.timeout for request in provider.requests] == [12.0, 12.0]
    await gateway.close()
    assert provider.closed
