"""What the rest of the house calls a model through: cache(retry(limit(meter(provider)))), with one default time limit.

The budget is inside the retry, because every attempt is a call that can cost; a sleeping retry holds no slot, because
the limit is inside the retry too.
"""

from __future__ import annotations

from dataclasses import replace

from skillopt.model.budget import Budget
from skillopt.model.cache import Accepts, AnswerStore, Cache
from skillopt.model.limit import Limit, Limiter
from skillopt.model.meter import Meter, Stats
from skillopt.model.prices import Tariff
from skillopt.model.retry import Retry, RetryPolicy
from skillopt.model.types import Completion, Provider, Request


class Gateway:
    """A `Provider` with live counts. `timeout` applies to requests that name none.

    Where `schemas` is False the endpoint is not known to hold answers to a JSON schema, and none is sent.
    """

    def __init__(self, provider: Provider, stats: Stats, timeout: float | None, *, schemas: bool = True) -> None:
        self._provider = provider
        self._timeout = timeout
        self._schemas = schemas
        self.stats = stats

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def complete(self, request: Request) -> Completion:
        if request.timeout is None and self._timeout is not None:
            request = replace(request, timeout=self._timeout)
        if request.json_schema is not None and not self._schemas:
            request = replace(request, json_schema=None)
        return await self._provider.complete(request)

    async def close(self) -> None:
        await self._provider.close()


def build_gateway(
    provider: Provider,
    *,
    policy: RetryPolicy | None = None,
    concurrency: int = 64,
    timeout: float | None = 300.0,
    limiter: Limiter | None = None,
    budget: Budget | None = None,
    tariff: Tariff | None = None,
    store: AnswerStore | None = None,
    cacheable: Accepts = lambda _: True,
    schemas: bool = True,
) -> Gateway:
    """Compose the wrappers. Gateways that are given the same limiter or budget share it."""
    stats = Stats()
    metered = Meter(provider, stats, budget=budget, tariff=tariff)
    retrying = Retry(Limit(metered, limiter or concurrency), policy, stats=stats)
    return Gateway(Cache(retrying, store, cacheable) if store else retrying, stats, timeout, schemas=schemas)
