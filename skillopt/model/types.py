"""The one interface every provider, wrapper and caller of a model shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skillopt.errors import ModelError
from skillopt.types import JSON, Usage

ErrorKind = Literal[
    "auth",  # the key is wrong or may not use the model: stop the run
    "not_found",  # no such model, deployment or path: stop the run
    "bad_request",  # the provider refuses this very request
    "context_length",  # the prompt is too long for the model
    "content_filter",  # the provider refuses the content
    "empty",  # an answer without text
    "rate_limited",  # 429 or overloaded: wait and try again
    "server",  # 5xx
    "connection",  # refused, reset, dropped
    "timeout",  # no answer within the call's time
    "malformed",  # an answer that is not the provider's own format
]

TRANSIENT: frozenset[str] = frozenset({"rate_limited", "server", "connection", "timeout", "malformed", "empty"})
FATAL: frozenset[str] = frozenset({"auth", "not_found"})


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a message. A provider with a prompt cache may keep everything up to the end of the first part."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """`url` is a data URL (`data:image/png;base64,...`) or an address the provider can fetch."""

    url: str
    detail: str = ""


Part = Text | Image


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may ask for; `parameters` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model asks for; `arguments` is JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """A tool's result is a message of role `tool` that names the call it answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | tuple[Part, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Text(self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Request:
    """One model call. `stage` labels it in the accounts (rollout, analyst, merge, ranking ...).

    `tool_choice` is empty, `auto`, `none`, `required` or the name of a tool. `json_schema` asks a provider that can to
    answer with JSON of that schema; the caller checks the answer either way.
    """

    messages: tuple[Message, ...]
    stage: str
    max_tokens: int = 16384
    timeout: float | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    tools: tuple[Tool, ...] = ()
    tool_choice: str = ""
    json_schema: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """`finish` is stop, length (cut off at the token limit) or tool_calls, whatever words the provider uses."""

    text: str
    usage: Usage
    finish: str = "stop"
    model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class BilledError(ModelError):
    """An answer that is no use but was paid for: it is empty, or its text was withheld."""

    def __init__(self, kind: ErrorKind, message: str, usage: Usage) -> None:
        self.usage = usage
        super().__init__(kind, message)


class Provider(Protocol):
    """Whoever can answer. Errors are `ModelError` with a kind; anything else is a bug of the provider."""

    @property
    def identity(self) -> str:
        """Endpoint and model, without credentials: what a result depends on."""
        ...

    async def complete(self, request: Request) -> Completion: ...

    async def close(self) -> None: ...
