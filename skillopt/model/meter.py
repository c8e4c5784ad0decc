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
    retries: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    stages: dict[str, Usage] = field(default_factory=dict[str, Usage])

    @property
    def total(self) -> Usage:
        """What all stages used together; summed when it is asked for, because calls are many and questions few."""
        return sum(tuple(self.stages.values()), Usage())

    @property
    def calls(self) -> int:
        return self.total.calls

    def add(self, stage: str, usage: Usage) -> None:
        known = self.stages.get(stage)
        self.stages[stage] = usage if known is None else known + usage


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
        budget, stats = self._budget, self.stats
        hold = await budget.reserve(request, self._tariff) if budget.capped else Hold(request)
        stats.in_flight += 1
        if stats.in_flight > stats.max_in_flight:
            stats.max_in_flight = stats.in_flight
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
