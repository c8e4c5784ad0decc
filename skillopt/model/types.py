"""The one interface every provider, wrapper and caller of a model shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skillopt.types import JSON, Usage

ErrorKind = Literal[
    "auth",  # the key is wrong or may not use the model: stop the run
    "not_found",  # no such model, deployment or path: stop the run
    "bad_request",  # the provider refuses this very request
    "context_length",  # the prompt is too long for the model
    "content_filter",  # the provider refuses the content
    "empty",  # an answer without text
    "rate_limited",  # 429: wait and try again
    "server",  # 5xx
    "connection",  # refused, reset, dropped
    "timeout",  # no answer within the call's time
    "malformed",  # an answer that is not the provider's own format
]

TRANSIENT: frozenset[str] = frozenset({"rate_limited", "server", "connection", "timeout", "malformed", "empty"})
FATAL: frozenset[str] = frozenset({"auth", "not_found"})


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One model call. `stage` labels it in the accounts (rollout, analyst, merge, ranking ...)."""

    messages: tuple[Message, ...]
    stage: str
    max_tokens: int = 16384
    timeout: float | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    usage: Usage
    finish: str = "stop"
    model: str = ""


class Provider(Protocol):
    """Whoever can answer. Errors are `ModelError` with a kind; anything else is a bug of the provider."""

    @property
    def identity(self) -> str:
        """Endpoint and model, without credentials: what a result depends on."""
        ...

    async def complete(self, request: Request) -> Completion: ...

    async def close(self) -> None: ...
