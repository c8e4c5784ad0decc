"""What the rest of the house calls a model through: retry(limit(meter(provider))), with one default time limit."""

from __future__ import annotations

from dataclasses import replace

from skillopt.model.limit import Limit
from skillopt.model.meter import Meter, Stats
from skillopt.model.retry import Retry, RetryPolicy
from skillopt.model.types import Completion, Provider, Request


class Gateway:
    """A `Provider` with live counts. `timeout` applies to requests that name none."""

    def __init__(self, provider: Provider, stats: Stats, timeout: float | None) -> None:
        self._provider = provider
        self._timeout = timeout
        self.stats = stats

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def complete(self, request: Request) -> Completion:
        if request.timeout is None and self._timeout is not None:
            request = replace(request, timeout=self._timeout)
        return await self._provider.complete(request)

    async def close(self) -> None:
        await self._provider.close()


def build_gateway(
    provider: Provider, *, policy: RetryPolicy | None = None, concurrency: int = 64, timeout: float | None = 300.0
) -> Gateway:
    """Compose the wrappers. A sleeping retry holds no slot, because the limit is inside the retry."""
    stats = Stats()
    return Gateway(Retry(Limit(Meter(provider, stats), concurrency), policy, stats=stats), stats, timeout)
