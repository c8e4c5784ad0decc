"""The Messages format of Anthropic: a request as its parameters, a body as a completion.

The stable head of a prompt is marked for the provider's cache: the system text, and the first part of a first user
message that has several. What follows may change from call to call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.failures import Reply
from skillopt.model.providers.wire_chat import checked, malformed
from skillopt.model.types import Completion, Image, Message, Part, Request, ToolCall
from skillopt.types import JSON, Usage

KEEP = {"type": "ephemeral"}
FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
_DATA = re.compile(r"data:(?P<type>[\w/+.-]+);base64,(?P<data>.*)", re.DOTALL)


def body(request: Request, endpoint: Endpoint, refused: frozenset[str]) -> dict[str, JSON]:
    row: dict[str, JSON] = {
        "model": endpoint.model,
        "max_tokens": request.max_tokens,
        "messages": _messages(request),
    }
    system = "\n\n".join(m.text for m in request.messages if m.role == "system")
    if system.strip():
        row["system"] = [{"type": "text", "text": system, "cache_control": KEEP}]
    if request.temperature is not None and "temperature" not in refused:
        row["temperature"] = min(request.temperature, 1.0)
    if output := _output(request, refused):
        row["output_config"] = output
    if request.tools:
        row["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": dict(t.parameters) or {"type": "object"}}
            for t in request.tools
        ]
    if request.tools and request.tool_choice:
        kinds = {"auto": "auto", "none": "none", "required": "any"}
        kind = kinds.get(request.tool_choice)
        row["tool_choice"] = {"type": kind} if kind else {"type": "tool", "name": request.tool_choice}
    return row | dict(endpoint.extra) | dict(request.extra)


def _output(request: Request, refused: frozenset[str]) -> dict[str, JSON]:
    row: dict[str, JSON] = {}
    effort = EFFORTS.get(request.reasoning_effort or "")
    if effort and "effort" not in refused:
        row["effort"] = effort
    if request.json_schema is not None and "format" not in refused:
        row["format"] = {"type": "json_schema", "schema": dict(request.json_schema)}
    return row


def _messages(request: Request) -> list[dict[str, JSON]]:
    """Turns in the two roles Anthropic knows; results of tools belong to the user, side by side in one turn."""
    rows: list[dict[str, JSON]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if not rows and role == "user" and len(blocks) > 1 and blocks[0]["type"] == "text":
            blocks[0]["cache_control"] = KEEP
        if rows and rows[-1]["role"] == role:
            rows[-1]["content"] += blocks
        else:
            rows.append({"role": role, "content": blocks})
    return rows


def _blocks(message: Message) -> list[dict[str, JSON]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.text}]
    blocks = [_block(part) for part in message.parts if isinstance(part, Image) or part.text]
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call)})
    return blocks


def _arguments(call: ToolCall) -> JSON:
    try:
        return json.loads(call.arguments or "{}")
    except ValueError:
        return {"arguments": call.arguments}


def _block(part: Part) -> dict[str, JSON]:
    if not isinstance(part, Image):
        return {"type": "text", "text": part.text}
    if match := _DATA.fullmatch(part.url):
        source = {"type": "base64", "media_type": match["type"], "data": match["data"]}
    else:
        source = {"type": "url", "url": part.url}
    return {"type": "image", "source": source}


def read(reply: Reply, identity: str, secret: str) -> Completion:
    try:
        row = json.loads(reply.body)
        blocks: list[Mapping[str, JSON]] = row["content"]
        text = "".join(str(b["text"]) for b in blocks if b["type"] == "text")
        calls = tuple(
            ToolCall(str(b["id"]), str(b["name"]), json.dumps(b["input"])) for b in blocks if b["type"] == "tool_use"
        )
        finish = str(row.get("stop_reason") or "end_turn")
        usage = _usage(row.get("usage"))
        completion = Completion(text, usage, FINISHES.get(finish, finish), str(row.get("model") or ""), calls)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise malformed(reply, identity, secret, "a message") from exc
    return checked(completion, identity)


def _usage(row: JSON) -> Usage:
    """Anthropic counts what it read from and wrote to its cache apart; here all of it is prompt."""
    if not isinstance(row, Mapping) or not row:
        return Usage(calls=1, unreported=1)
    cached = int(row.get("cache_read_input_tokens") or 0)
    written = int(row.get("cache_creation_input_tokens") or 0)
    return Usage(
        calls=1,
        prompt_tokens=int(row.get("input_tokens") or 0) + cached + written,
        completion_tokens=int(row.get("output_tokens") or 0),
        cached_tokens=cached,
        cache_write_tokens=written,
    )
