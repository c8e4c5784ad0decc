"""Each call that is sent passes here once: it is counted, priced, and checked against the budget before it leaves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from skillopt.errors import ModelError
from skillopt.model.budget import Budget, Hold
from skillopt.model.prices import Tariff
from skillopt.model.types import BilledError, Completion, Provider, Request
from skillopt.types import Usage

UNSENT = frozenset({"auth", "not_found", "bad_request", "context_length", "rate_limited", "server"})
"""Refusals: the provider answered that it did not do the work, so no tokens were used."""


@dataclass(slots=True)
class Stats:
    """Mutable on purpose: the gateway owns it, the wrappers count into it, a display reads it."""

    in_flight: int = 0
    max_in_flight: int = 0
    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    unreported: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    stages: dict[str, Usage] = field(default_factory=dict[str, Usage])

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def add(self, stage: str, usage: Usage) -> None:
        self.calls += usage.calls
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.cached_tokens += usage.cached_tokens
        self.reasoning_tokens += usage.reasoning_tokens
        self.unreported += usage.unreported
        self.cost_usd = round(self.cost_usd + usage.cost_usd, 9)
        self.unpriced += usage.unpriced
        self.stages[stage] = self.stages.get(stage, Usage()) + usage


class Meter:
    """A provider that counts. `calls` are answers; `errors` counts failed attempts by kind."""

    def __init__(
        self,
        provider: Provider,
        stats: Stats | None = None,
        *,
        budget: Budget | None = None,
        tariff: Tariff | None = None,
    ) -> None:
        self._provider = provider
        self._budget = budget or Budget()
        self._tariff = tariff
        self.stats = stats if stats is not None else Stats()

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: Request) -> Completion:
        hold = await self._budget.reserve(request, self._tariff)
        stats = self.stats
        stats.in_flight += 1
        stats.max_in_flight = max(stats.max_in_flight, stats.in_flight)
        try:
            completion = await self._provider.complete(hold.request)
        except BilledError as error:
            paid = replace(self._priced(error.usage), calls=0)
            self._failed(request, hold, error, paid)
            raise BilledError("empty" if error.kind == "empty" else "content_filter", str(error), paid) from error
        except ModelError as error:
            self._failed(request, hold, error, Usage() if error.kind in UNSENT else None)
            raise
        except (asyncio.CancelledError, Exception):
            self._budget.settle(hold, None, self._tariff)
            raise
        finally:
            stats.in_flight -= 1
        return self._answered(request, hold, completion)

    def _answered(self, request: Request, hold: Hold, completion: Completion) -> Completion:
        usage = self._priced(completion.usage)
        self._budget.settle(hold, usage, self._tariff)
        self.stats.add(request.stage, usage)
        if hold.shortened and completion.finish == "length":
            # The model would have gone on: what the budget cut off is no answer, and must not become a score.
            raise self._budget.exhausted()
        return Completion(completion.text, usage, completion.finish, completion.model, completion.tool_calls)

    def _failed(self, request: Request, hold: Hold, error: ModelError, used: Usage | None) -> None:
        self._budget.settle(hold, used, self._tariff)
        self.stats.errors[error.kind] = self.stats.errors.get(error.kind, 0) + 1
        if used:
            self.stats.add(request.stage, used)

    def _priced(self, usage: Usage) -> Usage:
        if self._tariff is None or usage.unreported:
            return usage.priced(None)
        return usage.priced(self._tariff.cost(usage))
