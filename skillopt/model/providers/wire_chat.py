"""The Chat Completions format: a request as its body, a body as a completion."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic_core import from_json

from skillopt.errors import ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.failures import Reply, failure, scrub
from skillopt.model.types import BilledError, Completion, Image, Message, Request, Tool, ToolCall
from skillopt.types import JSON, Usage

FINISHES = {"function_call": "tool_calls", "max_tokens": "length", "end_turn": "stop", "eos": "stop"}


def body(request: Request, endpoint: Endpoint, refused: frozenset[str]) -> dict[str, JSON]:
    """Without the parameters this server refuses by name."""
    field = endpoint.token_field if endpoint.token_field not in refused else "max_tokens"
    row: dict[str, JSON] = {
        "model": endpoint.model,
        "messages": [message_row(m) for m in request.messages],
        field: request.max_tokens,
    }
    if request.temperature is not None and "temperature" not in refused:
        row["temperature"] = request.temperature
    if request.reasoning_effort and endpoint.takes_effort and "reasoning_effort" not in refused:
        row["reasoning_effort"] = request.reasoning_effort
    if request.tools:
        row["tools"] = [{"type": "function", "function": tool_row(t)} for t in request.tools]
    if request.tools and request.tool_choice:
        row["tool_choice"] = _choice(request.tool_choice)
    if request.json_schema is not None and "response_format" not in refused:
        schema = {"name": "answer", "schema": dict(request.json_schema)}
        row["response_format"] = {"type": "json_schema", "json_schema": schema}
    return row | dict(endpoint.extra) | dict(request.extra)


def message_row(message: Message) -> dict[str, JSON]:
    row: dict[str, JSON] = {"role": message.role}
    if isinstance(message.content, str):
        row["content"] = message.content
    else:
        row["content"] = [_part(part) for part in message.content]
    if message.tool_calls:
        row["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.tool_calls
        ]
    return row | ({"tool_call_id": message.tool_call_id} if message.tool_call_id else {})


def tool_row(tool: Tool) -> dict[str, JSON]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _part(part: JSON) -> dict[str, JSON]:
    if isinstance(part, Image):
        detail = {"detail": part.detail} if part.detail else {}
        return {"type": "image_url", "image_url": {"url": part.url} | detail}
    return {"type": "text", "text": part.text}


def _choice(choice: str) -> JSON:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def read(reply: Reply, identity: str, secret: str) -> Completion:
    """Take a 200 body apart; anything but a choice with a message is the provider's mistake."""
    try:
        row = from_json(reply.body)
        if not row.get("choices") and row.get("error"):
            raise failure(reply.inner(row["error"]), identity, secret)
        choice = row["choices"][0]
        message = choice["message"]
        text = _text(message.get("content")) or _text(message.get("refusal"))
        calls = tuple(_call(each, n) for n, each in enumerate(message.get("tool_calls") or ()))
        finish = str(choice.get("finish_reason") or "stop")
        usage = usage_of(row.get("usage"))
        completion = Completion(text, usage, FINISHES.get(finish, finish), str(row.get("model") or ""), calls)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as exc:
        raise malformed(reply, identity, secret, "a chat completion") from exc
    return checked(completion, identity)


def malformed(reply: Reply, identity: str, secret: str, wanted: str) -> ModelError:
    return ModelError("malformed", f"{identity}: not {wanted}: {scrub(reply.text()[:300], secret)}")


def checked(completion: Completion, identity: str) -> Completion:
    """What is no answer although the server said 200: a withheld one, and nothing at all."""
    if completion.finish == "content_filter":
        raise BilledError("content_filter", f"{identity}: the content filter withheld the answer", completion.usage)
    if not completion.text.strip() and not completion.tool_calls and completion.finish != "length":
        raise BilledError("empty", f"{identity}: the model answered without text", completion.usage)
    return completion


def _call(row: Mapping[str, JSON], n: int) -> ToolCall:
    function = row["function"]
    arguments = function.get("arguments") or "{}"
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(str(row.get("id") or f"call_{n}"), str(function["name"]), written)


def _text(content: JSON) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def usage_of(row: JSON) -> Usage:
    """Counts under the names of either OpenAI format."""
    if not isinstance(row, Mapping) or not row:
        return Usage(calls=1, unreported=1)
    prompt: Mapping[str, JSON] = row.get("prompt_tokens_details") or row.get("input_tokens_details") or {}
    answer: Mapping[str, JSON] = row.get("completion_tokens_details") or row.get("output_tokens_details") or {}
    return Usage(
        calls=1,
        prompt_tokens=int(row.get("prompt_tokens") or row.get("input_tokens") or 0),
        completion_tokens=int(row.get("completion_tokens") or row.get("output_tokens") or 0),
        cached_tokens=int(prompt.get("cached_tokens") or 0),
        reasoning_tokens=int(answer.get("reasoning_tokens") or 0),
    )
