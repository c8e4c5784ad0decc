"""The loose forms of the public functions: OpenAI-style dicts in, small message objects out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from skillopt.errors import SkillOptError
from skillopt.model.types import Completion, Image, Message, Part, Text, Tool, ToolCall
from skillopt.types import JSON, Usage

Row = Mapping[str, JSON]
_ROLES: Mapping[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


@dataclass
class CompatToolFunction:
    name: str
    arguments: str

    def model_dump(self, mode: str = "json") -> dict[str, JSON]:
        return asdict(self)


@dataclass
class CompatToolCall:
    id: str
    function: CompatToolFunction
    type: str = "function"

    def model_dump(self, mode: str = "json") -> dict[str, JSON]:
        return asdict(self)


@dataclass
class CompatAssistantMessage:
    """What `return_message=True` gives: `.content` and `.tool_calls`."""

    content: str
    tool_calls: list[CompatToolCall] = field(default_factory=list[CompatToolCall])
    metadata: dict[str, JSON] = field(default_factory=dict[str, JSON])

    def model_dump(self, mode: str = "json") -> dict[str, JSON]:
        calls = [call.model_dump(mode) for call in self.tool_calls]
        return {"role": "assistant", "content": self.content} | ({"tool_calls": calls} if calls else {})


def messages_of(rows: Sequence[Row]) -> tuple[Message, ...]:
    return tuple(_message(row) for row in rows)


def _message(row: Row) -> Message:
    role = _ROLES.get(str(row.get("role")))
    if role is None:
        raise SkillOptError(f"a message has the role {row.get('role')!r}; use {', '.join(_ROLES)}")
    calls = tuple(
        ToolCall(str(c["id"]), str(c["function"]["name"]), str(c["function"].get("arguments") or "{}"))
        for c in row.get("tool_calls") or ()
    )
    content = row.get("content")
    parts = content if content is None or isinstance(content, str) else tuple(_part(part) for part in content)
    return Message(role, parts or "", calls, str(row.get("tool_call_id") or ""))


def _part(row: Row) -> Part:
    kind = row.get("type")
    if kind == "text":
        return Text(str(row.get("text") or ""))
    if kind == "image_url":
        image = row["image_url"]
        url = image if isinstance(image, str) else image["url"]
        return Image(str(url), "" if isinstance(image, str) else str(image.get("detail") or ""))
    raise SkillOptError(f"a part of a message has the type {kind!r}; use text or image_url")


def tools_of(rows: Sequence[Row] | None) -> tuple[Tool, ...]:
    functions = [row.get("function") or row for row in rows or ()]
    return tuple(Tool(str(f["name"]), str(f.get("description") or ""), f.get("parameters") or {}) for f in functions)


def choice_of(choice: JSON) -> str:
    if isinstance(choice, Mapping):
        function = choice.get("function") or choice
        return str(function["name"])
    return str(choice or "")


def message_row(completion: Completion) -> CompatAssistantMessage:
    calls = [CompatToolCall(c.id, CompatToolFunction(c.name, c.arguments)) for c in completion.tool_calls]
    return CompatAssistantMessage(completion.text, calls, {"finish_reason": completion.finish})


def usage_row(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
