"""Live counts of one endpoint, for displays. Costs are the journal's business; these numbers show what goes on now."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.errors import ModelError
from skillopt.model.types import Completion, Provider, Request


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
    errors: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def add(self, completion: Completion) -> None:
        usage = completion.usage
        self.calls += 1
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.cached_tokens += usage.cached_tokens
        self.reasoning_tokens += usage.reasoning_tokens
        self.unreported += usage.unreported


class Meter:
    """A provider that counts. `calls` are answers; `errors` counts failed attempts by kind."""

    def __init__(self, provider: Provider, stats: Stats | None = None) -> None:
        self._provider = provider
        self.stats = stats if stats is not None else Stats()

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: Request) -> Completion:
        stats = self.stats
        stats.in_flight += 1
        stats.max_in_flight = max(stats.max_in_flight, stats.in_flight)
        try:
            completion = await self._provider.complete(request)
        except ModelError as error:
            stats.errors[error.kind] = stats.errors.get(error.kind, 0) + 1
            raise
        finally:
            stats.in_flight -= 1
        stats.add(completion)
        return completion
