"""The Responses format of OpenAI, for models that have no chat completions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.failures import Reply, failure
from skillopt.model.providers.wire_chat import checked, malformed, tool_row, usage_of
from skillopt.model.types import Completion, Image, Message, Part, Request, ToolCall
from skillopt.types import JSON

_ONLY = re.compile(r"(^|/)(gpt-[\d.]+-codex|codex-mini|gpt-[\d.]+-pro|o\d-pro|o\d(-mini)?-deep-research)(-|$)")
_COMPLAINT = re.compile(r"v1/responses|responses api|use the responses endpoint", re.IGNORECASE)


def is_needed(model: str) -> bool:
    """Whether the name is one of a family that OpenAI serves on this route only."""
    return _ONLY.search(model.lower()) is not None


def is_asked_for(reply: Reply) -> bool:
    """Whether a refusal says that this model is on the other route."""
    return reply.status in (400, 404, 422) and _COMPLAINT.search(reply.text()) is not None


def body(request: Request, endpoint: Endpoint, refused: frozenset[str]) -> dict[str, JSON]:
    system = "\n\n".join(m.text for m in request.messages if m.role == "system")
    row: dict[str, JSON] = {
        "model": endpoint.model,
        "input": [item for m in request.messages if m.role != "system" for item in _items(m)],
        "max_output_tokens": request.max_tokens,
        "store": False,
    }
    if system:
        row["instructions"] = system
    if request.temperature is not None and "temperature" not in refused:
        row["temperature"] = request.temperature
    if request.reasoning_effort and endpoint.takes_effort and "reasoning_effort" not in refused:
        row["reasoning"] = {"effort": request.reasoning_effort}
    if request.tools:
        row["tools"] = [{"type": "function"} | tool_row(t) for t in request.tools]
    if request.tools and request.tool_choice:
        named = request.tool_choice not in ("auto", "none", "required")
        row["tool_choice"] = {"type": "function", "name": request.tool_choice} if named else request.tool_choice
    if request.json_schema is not None and "response_format" not in refused:
        schema = {"type": "json_schema", "name": "answer", "schema": dict(request.json_schema)}
        row["text"] = {"format": schema}
    return row | dict(endpoint.extra) | dict(request.extra)


def _items(message: Message) -> list[dict[str, JSON]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}]
    items: list[dict[str, JSON]] = []
    if message.parts and (message.content or not message.tool_calls):
        plain = isinstance(message.content, str)
        items.append({"role": message.role, "content": message.text if plain else _parts(message)})
    for call in message.tool_calls:
        items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
    return items


def _parts(message: Message) -> list[dict[str, JSON]]:
    kind = "output_text" if message.role == "assistant" else "input_text"

    def row(part: Part) -> dict[str, JSON]:
        if isinstance(part, Image):
            return {"type": "input_image", "image_url": part.url} | ({"detail": part.detail} if part.detail else {})
        return {"type": kind, "text": part.text}

    return [row(part) for part in message.parts]


def read(reply: Reply, identity: str, secret: str) -> Completion:
    try:
        row = json.loads(reply.body)
        if row.get("error"):
            raise failure(reply.inner(row["error"]), identity, secret)
        output: list[Mapping[str, JSON]] = row["output"]
        texts = [p for item in output if item["type"] == "message" for p in item["content"]]
        text = "".join(str(p.get("text") or p.get("refusal") or "") for p in texts)
        calls = tuple(
            ToolCall(str(item["call_id"]), str(item["name"]), str(item["arguments"]))
            for item in output
            if item["type"] == "function_call"
        )
        completion = Completion(
            text, usage_of(row.get("usage")), _finish(row, calls), str(row.get("model") or ""), calls
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as exc:
        raise malformed(reply, identity, secret, "a response") from exc
    return checked(completion, identity)


def _finish(row: Mapping[str, JSON], calls: tuple[ToolCall, ...]) -> str:
    if row.get("status") == "incomplete":
        reason = str((row.get("incomplete_details") or {}).get("reason") or "")
        return "content_filter" if reason == "content_filter" else "length"
    return "tool_calls" if calls else "stop"
