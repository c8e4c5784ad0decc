from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config.schema import Config
from skillopt.errors import BudgetExhausted, ConfigError
from skillopt.model.assemble import assemble
from skillopt.model.budget import Budget, Caps
from skillopt.model.gateway import build_gateway
from skillopt.model.prices import FlatTariff, listed, worst
from skillopt.model.retry import RetryPolicy
from skillopt.model.tokens import bound
from skillopt.model.types import BilledError, Completion, Message, Request
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import Usage

REQUEST = Request((Message("user", "hello"),), "rollout", max_tokens=1000)
PRICE = FlatTariff(2.0, 8.0)


class Fixed:
    identity = "fixed"

    def __init__(self, *completions: Completion | Exception) -> None:
        self.left = list(completions)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        result = self.left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    async def close(self) -> None: ...


async def test_every_call_is_priced_and_an_unknown_price_is_not_zero():
    answer = Completion("yes", Usage(1, 1_000_000, 500_000))
    priced = await build_gateway(Fixed(answer), tariff=PRICE).complete(REQUEST)
    unknown = await build_gateway(Fixed(answer)).complete(REQUEST)
    assert (priced.usage.cost_usd, priced.usage.unpriced) == (6.0, 0)
    assert (unknown.usage.cost_usd, unknown.usage.unpriced) == (0.0, 1)
    both = priced.usage + unknown.usage
    assert (both.cost_usd, both.unpriced, both.calls) == (6.0, 1, 2)


def test_sums_of_costs_do_not_depend_on_their_order():
    parts = [Usage(cost_usd=round(0.1 * n / 7, 9)) for n in range(200)]
    assert sum(parts, Usage()) == sum(reversed(parts), Usage())


async def test_a_run_that_continues_begins_with_what_it_has_spent():
    budget = Budget(Caps(calls=10))
    budget.continue_from(Usage(calls=7, retries=2), Usage())
    gateway = build_gateway(ScriptedProvider(["yes", "no"]), budget=budget)
    await gateway.complete(REQUEST)
    with pytest.raises(BudgetExhausted) as caught:
        await gateway.complete(REQUEST)
    assert caught.value.exit_code == 4
    assert all(word in str(caught.value) for word in ("10 of 10 calls", "budget.max_calls", "same command"))


async def test_the_last_answer_is_asked_to_be_short_enough():
    room = 400
    budget = Budget(Caps(tokens=bound(REQUEST) + room))
    provider = Fixed(Completion("yes", Usage(1, 5, 10)))
    assert (await build_gateway(provider, budget=budget).complete(REQUEST)).text == "yes"
    assert provider.requests[0].max_tokens == room


async def test_an_answer_that_the_budget_cut_off_is_no_answer():
    budget = Budget(Caps(tokens=bound(REQUEST) + 400))
    provider = Fixed(Completion("half an ans", Usage(1, 5, 400), "length"))
    with pytest.raises(BudgetExhausted):
        await build_gateway(provider, budget=budget).complete(REQUEST)
    assert budget.spent.tokens == 405


async def test_too_little_room_for_an_answer_sends_nothing():
    provider = Fixed()
    with pytest.raises(BudgetExhausted):
        await build_gateway(provider, budget=Budget(Caps(tokens=bound(REQUEST) + 255))).complete(REQUEST)
    assert provider.requests == []


async def test_an_empty_answer_is_paid_for_and_shows_in_the_accounts():
    empty = BilledError("empty", "nothing", Usage(1, 1_000_000, 0))
    gateway = build_gateway(
        Fixed(empty, Completion("yes", Usage(1, 500_000, 0))), tariff=PRICE, policy=RetryPolicy(base=0.0)
    )
    usage = (await gateway.complete(REQUEST)).usage
    assert (usage.calls, usage.retries, usage.prompt_tokens, usage.cost_usd) == (1, 1, 1_500_000, 3.0)
    assert (gateway.stats.total.cost_usd, gateway.stats.errors) == (3.0, {"empty": 1})


async def test_a_call_without_a_count_is_booked_at_its_most():
    budget = Budget(Caps(tokens=10_000))
    await build_gateway(Fixed(Completion("yes", Usage(1, unreported=1))), budget=budget).complete(REQUEST)
    assert budget.spent.tokens == bound(REQUEST) + 1000


def test_list_prices_come_with_the_installation():
    tariff = listed("gpt-4o", "https://api.openai.com/v1")
    assert tariff is not None and tariff.context_window == 128_000
    assert tariff.cost(Usage(1, 1_000_000, 0)) == 2.5
    assert tariff.cost(Usage(1, 1_000_000, 0, cached_tokens=1_000_000)) == 1.25
    claude = listed("claude-sonnet-4-6", "https://api.anthropic.com")
    assert claude is not None and worst(claude, 1_000_000, 0) == 3.75, "written to the cache it costs most"


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("gpt-4o", "http://localhost:8000/v1"),
        ("gpt-4o", "http://10.0.0.7/v1"),
        ("gpt-4o", "http://gpu-box:8000/v1"),
        ("my-deployment", "https://r.openai.azure.com"),
        ("gpt-4o", "https://llm.example.org/v1"),
    ],
)
def test_what_the_list_does_not_know_is_unknown(model: str, url: str):
    assert listed(model, url) is None


def test_a_cap_in_dollars_needs_a_price_for_both_models(tmp_path: Path):
    config = Config.model_validate({"model": {"target": "mine"}, "budget": {"max_cost_usd": 1.0}})
    environ = {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/v1"}
    with pytest.raises(ConfigError) as caught:
        assemble(config, environ)
    assert len(caught.value.problems) == 2
    assert "budget.target_price_per_million_tokens" in caught.value.problems[1]
    free = config.model_copy(
        update={"budget": replace_price(config, {"input": 0.0, "output": 0.0})},
    )
    assert assemble(free, environ).budget.caps == Caps(cost_usd=1.0)


def replace_price(config: Config, price: dict[str, float]) -> object:
    return type(config.budget).model_validate({"max_cost_usd": 1.0, "price_per_million_tokens": price})


def test_roles_at_one_endpoint_share_one_limiter_and_others_do_not():
    config = Config.model_validate({"model": {"max_concurrency": 7}})
    same = assemble(config, {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/v1"})
    apart = assemble(
        config,
        {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/v1", "TARGET_AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:2/v1"},
    )
    assert limiter(same.optimizer) is limiter(same.target)
    assert limiter(apart.optimizer) is not limiter(apart.target)
    assert limiter(same.target).limit == 7


def limiter(gateway: object):
    return gateway._provider._provider.limiter  # type: ignore[attr-defined]
