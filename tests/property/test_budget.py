"""A cap is never exceeded, whatever is asked at once and whatever goes wrong; and it is not hoarded either."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.errors import BudgetExhausted, ModelError
from skillopt.model.budget import Budget, Caps
from skillopt.model.endpoint import Endpoint
from skillopt.model.gateway import build_gateway
from skillopt.model.prices import FlatTariff
from skillopt.model.providers.openai import OpenAIProvider
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import Completion, Message, Request
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.types import Usage

PRICE = FlatTariff(input=1000.0, output=3000.0)


class Erratic:
    """Answers, fails and dawdles by chance; knows what it has truly cost."""

    identity = "erratic"

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.sent = self.tokens = 0
        self.cost = 0.0

    async def complete(self, request: Request) -> Completion:
        self.sent += 1
        fate = self._random.random()
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        if fate < 0.2:
            raise ModelError("rate_limited", "slow down", retry_after=0.0)
        if fate < 0.3:
            raise ModelError("server", "oops")
        prompt = sum(len(m.text) for m in request.messages) // 2
        answer = self._random.randint(1, request.max_tokens)
        self.tokens += prompt + answer
        self.cost += PRICE.cost(Usage(1, prompt, answer))
        if fate < 0.4:
            raise ModelError("timeout", "the work was done, but nobody heard of it")
        finish = "length" if answer == request.max_tokens else "stop"
        return Completion("yes", Usage(1, prompt, answer), finish)

    async def close(self) -> None: ...


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    calls=st.none() | st.integers(1, 60),
    tokens=st.none() | st.integers(1, 60_000),
    cost=st.none() | st.floats(0.01, 150.0),
    cancelled=st.sets(st.integers(0, 79), max_size=10),
)
def test_no_cap_is_ever_exceeded(
    seed: int, calls: int | None, tokens: int | None, cost: float | None, cancelled: set[int]
):
    async def main() -> None:
        provider, budget = Erratic(seed), Budget(Caps(cost, tokens, calls))
        roles = [
            build_gateway(
                provider,
                budget=budget,
                tariff=PRICE,
                concurrency=32,
                policy=RetryPolicy(4, base=0.0),
            )
            for _ in range(2)
        ]
        request = Request((Message("user", "x" * 200),), "s", max_tokens=1000)
        tasks = [asyncio.ensure_future(roles[n % 2].complete(request)) for n in range(80)]
        await asyncio.sleep(0)
        for n in cancelled:
            tasks[n].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert calls is None or provider.sent <= calls
        assert tokens is None or provider.tokens <= tokens
        assert cost is None or provider.cost <= cost + 1e-6
        assert budget.held.calls == 0 and budget.spent.calls <= provider.sent
        strangers = [r for r in results if not isinstance(r, (Completion, ModelError, BudgetExhausted))]
        assert all(isinstance(s, asyncio.CancelledError) for s in strangers)

    asyncio.run(main())


@pytest.mark.parametrize("cap", [1, 37, 200])
async def test_256_calls_at_once_in_a_storm_never_send_more_than_the_cap(cap: int):
    faults = Faults(rate_429=0.2, retry_after=0.01, rate_500=0.1, rate_drop=0.05)
    async with LoopbackServer(faults=faults) as server:
        budget = Budget(Caps(calls=cap))
        gateways = [
            build_gateway(
                OpenAIProvider(Endpoint(server.url, "m")),
                budget=budget,
                concurrency=256,
                policy=RetryPolicy(20, base=0.002),
            )
            for _ in range(2)
        ]
        asked = [gateways[n % 2].complete(Request((Message("user", f"q{n}"),), "s", max_tokens=16)) for n in range(256)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        for gateway in gateways:
            await gateway.close()
        assert server.counts.requests <= cap
        assert any(isinstance(r, BudgetExhausted) for r in results)
        assert sum(isinstance(r, Completion) for r in results) == server.counts.answered


async def test_a_small_budget_is_used_up_and_not_hoarded():
    """Sixteen calls that could each take most of the cap, but take little, all go through one after the other."""

    class Frugal(Erratic):
        async def complete(self, request: Request) -> Completion:
            self.sent += 1
            await asyncio.sleep(0)
            return Completion("yes", Usage(1, 50, 50))

    provider = Frugal(0)
    gateway = build_gateway(provider, budget=Budget(Caps(tokens=20_000)), concurrency=16)
    request = Request((Message("user", "hello"),), "s", max_tokens=16_384)
    answers = await asyncio.gather(*(gateway.complete(request) for _ in range(16)))
    assert len(answers) == 16 == provider.sent
