"""From a configuration to the two gateways of a run. What the roles share (limiter, budget, answers) is made once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.config.schema import Config, Price
from skillopt.errors import ConfigError
from skillopt.model.budget import Budget, Caps
from skillopt.model.cache import Accepts, AnswerStore
from skillopt.model.endpoint import Endpoint
from skillopt.model.gateway import Gateway, build_gateway
from skillopt.model.limit import Limiter
from skillopt.model.prices import FlatTariff, Tariff, listed
from skillopt.model.resolve import resolve
from skillopt.model.retry import RetryPolicy
from skillopt.model.settings import Role
from skillopt.model.types import Provider, Request

log = logging.getLogger(__name__)

ROLES: tuple[Role, ...] = ("optimizer", "target")
CACHE_FILE = Path("outputs/.cache/answers.sqlite")


@dataclass(frozen=True, slots=True)
class Gateways:
    """Both roles, and the budget they share."""

    optimizer: Gateway
    target: Gateway
    budget: Budget
    deployment: Deployments

    def by_role(self) -> dict[Role, Gateway]:
        return {"optimizer": self.optimizer, "target": self.target}

    async def close(self) -> None:
        for gateway in (self.optimizer, self.target, *self.deployment.opened.values()):
            await gateway.close()


@dataclass(slots=True)
class Deployments:
    """Other models at the optimizer's endpoint, made when they are first asked for."""

    make: Callable[[str], Gateway]
    opened: dict[str, Gateway] = field(default_factory=dict[str, Gateway])

    def __call__(self, name: str) -> Gateway:
        return self.opened.setdefault(name, self.opened.get(name) or self.make(name))


def assemble(config: Config, environ: Mapping[str, str]) -> Gateways:
    """Check both endpoints, the prices and the caps, and put the wrappers together. Nothing is called."""
    endpoints = resolved(config, environ)
    tariffs: dict[Role, Tariff | None] = {role: tariff_of(config, role, endpoints[role]) for role in ROLES}
    _check_prices(config, endpoints, tariffs)
    budget = Budget(caps_of(config))
    limiters = _limiters(config, endpoints)
    store = AnswerStore(Path(config.model.cache_file or CACHE_FILE)) if config.model.cache != "off" else None

    def gateway(role: Role, endpoint: Endpoint, tariff: Tariff | None, limiter: Limiter) -> Gateway:
        return build_gateway(
            provider_of(endpoint),
            policy=RetryPolicy(config.model.max_attempts, config.model.retry_deadline_seconds),
            timeout=_timeout(config, role, endpoint),
            limiter=limiter,
            budget=budget,
            tariff=tariff,
            store=store,
            cacheable=_cacheable(config, role),
            schemas=endpoint.takes_schema,
        )

    def another(model: str) -> Gateway:
        endpoint = replace(endpoints["optimizer"], model=model)
        tariff = tariff_of(config, "optimizer", endpoint)
        _check_prices(config, {"optimizer": endpoint}, {"optimizer": tariff})
        return gateway("optimizer", endpoint, tariff, Limiter(config.gradient.analyst_workers))

    made = {r: gateway(r, endpoints[r], tariffs[r], limiters[endpoints[r].identity]) for r in ROLES}
    return Gateways(made["optimizer"], made["target"], budget, Deployments(another))


def resolved(config: Config, environ: Mapping[str, str]) -> dict[Role, Endpoint]:
    """Both endpoints; what is wrong with either is said in one error."""
    problems: list[str] = []
    endpoints: dict[Role, Endpoint] = {}
    for role in ROLES:
        try:
            endpoints[role] = resolve(dict(config.model), role, environ)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(tuple(dict.fromkeys(problems)))
    for role, endpoint in endpoints.items():
        for note in endpoint.notes:
            log.info("%s: %s", role, note)
    return endpoints


def provider_of(endpoint: Endpoint) -> Provider:
    """The provider of an endpoint's wire format, loaded when it is needed."""
    if endpoint.program:
        from skillopt.model.providers.nobody import Elsewhere

        return Elsewhere(endpoint.identity)
    if endpoint.wire == "anthropic":
        from skillopt.model.providers.claude import ClaudeProvider

        return ClaudeProvider(endpoint)
    if endpoint.wire == "litellm":
        from skillopt.model.providers.through_litellm import LiteLLMProvider

        return LiteLLMProvider(endpoint)
    if endpoint.wire == "local":
        from skillopt.model.providers.local import LocalProvider, LocalSettings

        return LocalProvider(LocalSettings.of(endpoint))
    if endpoint.wire == "none":
        from skillopt.model.providers.nobody import Nobody

        return Nobody()
    from skillopt.model.providers.openai import OpenAIProvider

    return OpenAIProvider(endpoint)


def tariff_of(config: Config, role: Role, endpoint: Endpoint) -> Tariff | None:
    """The price a person gave, else the list price, else None: not known. Nobody pays for a local model."""
    if endpoint.wire in ("local", "none"):
        return FlatTariff(0.0, 0.0)
    given: dict[Role, Price | None] = {
        "optimizer": config.budget.optimizer_price_per_million_tokens,
        "target": config.budget.target_price_per_million_tokens,
    }
    price = given[role] or config.budget.price_per_million_tokens
    return FlatTariff(price.input, price.output) if price else listed(endpoint.model, endpoint.base_url)


def caps_of(config: Config) -> Caps:
    return Caps(config.budget.max_cost_usd, config.budget.max_tokens, config.budget.max_calls)


def _check_prices(config: Config, endpoints: Mapping[Role, Endpoint], tariffs: Mapping[Role, Tariff | None]) -> None:
    if config.budget.max_cost_usd is None:
        return
    unknown = [
        f"budget.max_cost_usd cannot be kept: the price of the {role} model {endpoints[role].model} at "
        f"{endpoints[role].base_url} is not known. Give budget.{role}_price_per_million_tokens: "
        "{input: DOLLARS, output: DOLLARS} (0 for a model of your own), or cap budget.max_tokens instead"
        for role, tariff in tariffs.items()
        if tariff is None
    ]
    if unknown:
        raise ConfigError(unknown)


def _limiters(config: Config, endpoints: Mapping[Role, Endpoint]) -> dict[str, Limiter]:
    """One for each endpoint and model; roles that share a model share its limiter."""
    wanted = {"optimizer": config.gradient.analyst_workers, "target": config.env.workers}
    places: dict[str, int] = {}
    for role, endpoint in endpoints.items():
        places[endpoint.identity] = places.get(endpoint.identity, 0) + wanted[role]
    model = config.model
    return {
        identity: Limiter(
            min(most, model.max_concurrency or most),
            requests_per_minute=model.requests_per_minute,
            tokens_per_minute=model.tokens_per_minute,
        )
        for identity, most in places.items()
    }


def _timeout(config: Config, role: Role, endpoint: Endpoint) -> float:
    if role == "target":
        return config.env.exec_timeout
    return endpoint.timeout or config.model.timeout_seconds


def _cacheable(config: Config, role: Role) -> Accepts:
    """Answers of the optimizer may be kept; of the target only those that would be the same again."""
    everything = config.model.cache == "all"

    def accepts(request: Request) -> bool:
        return role == "optimizer" or (everything and request.temperature == 0)

    return accepts
