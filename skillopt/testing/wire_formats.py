"""The vendors' formats as a server sees them: strict about requests, true to shape in answers and errors.

Written from the vendors' documentation, apart from the client's own code, so that the two can disagree.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from skillopt.types import JSON

Row = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says, whatever its format."""

    system: str
    user: str
    images: int = 0
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    """The SHA-256 of each picture that came inline (chat format)."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the server answers. `finish` is stop, length, tool or filter; `arguments` are those of the tool call."""

    text: str
    finish: str = "stop"
    tool: str = ""
    cached: int = 0
    arguments: str = '{"place": "here"}'


class Format(Protocol):
    name: str

    def read(self, body: Row) -> Asked: ...

    def answer(self, name: str, model: str, size: int, said: Said) -> dict[str, JSON]: ...

    def error(self, status: int, code: str, message: str) -> dict[str, JSON]: ...


class BadRequest(Exception):
    """The request is not of the format; the text says where."""


def format_of(path: str) -> Format | None:
    """The format behind a route."""
    if path.endswith("/chat/completions"):
        return Chat()
    if path.endswith("/responses"):
        return Responses()
    return Messages() if path.endswith("/v1/messages") else None


class Chat:
    """Chat Completions of OpenAI and its kin."""

    name = "chat"

    def read(self, body: Row) -> Asked:
        _need(body, "model", "messages")
        system, user, results, seen = list[str](), list[str](), list[str](), list[str]()
        images = 0
        for row in body["messages"]:
            role = row["role"]
            if role == "tool" and not row.get("tool_call_id"):
                raise BadRequest("messages: a tool message needs tool_call_id")
            if role not in ("system", "developer", "user", "assistant", "tool"):
                raise BadRequest(f"messages: role {role!r} is not supported")
            text, pictures = _chat_content(row.get("content"))
            images += pictures
            seen += _seen(row.get("content"))
            into = {"system": system, "developer": system, "tool": results, "user": user}.get(role)
            if into is not None:
                into.append(text)
        tools = tuple(str(t["function"]["name"]) for t in body.get("tools") or ())
        return Asked("\n".join(system), "\n".join(user), images, tools, tuple(results), tuple(seen))

    def answer(self, name: str, model: str, size: int, said: Said) -> dict[str, JSON]:
        message: dict[str, JSON] = {"role": "assistant", "content": said.text}
        if said.tool:
            call = {"name": said.tool, "arguments": said.arguments}
            message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
        finish = {"tool": "tool_calls", "filter": "content_filter"}.get(said.finish, said.finish)
        prompt, answer = size // 4 + 1, len(said.text) // 4 + 1
        return {
            "id": f"chatcmpl-{name[:12]}",
            "object": "chat.completion",
            "model": model,
            "choices": [{"index": 0, "finish_reason": finish, "message": message}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": answer,
                "total_tokens": prompt + answer,
                "prompt_tokens_details": {"cached_tokens": min(said.cached, prompt)},
            },
        }

    def error(self, status: int, code: str, message: str) -> dict[str, JSON]:
        return {"error": {"message": message, "code": code, "type": code, "param": None}}


class Responses(Chat):
    """The Responses API of OpenAI."""

    name = "responses"

    def read(self, body: Row) -> Asked:
        _need(body, "model", "input")
        if "messages" in body or "max_tokens" in body:
            raise BadRequest("Unsupported parameter: 'messages' or 'max_tokens' is no parameter of responses")
        user, results = list[str](), list[str]()
        images = 0
        for row in body["input"]:
            if row.get("type") == "function_call_output":
                results.append(str(row["output"]))
            elif row.get("role") == "user":
                text, pictures = _responses_content(row["content"])
                user.append(text)
                images += pictures
        tools = tuple(str(t["name"]) for t in body.get("tools") or ())
        return Asked(str(body.get("instructions") or ""), "\n".join(user), images, tools, tuple(results))

    def answer(self, name: str, model: str, size: int, said: Said) -> dict[str, JSON]:
        output: list[JSON] = [{"type": "reasoning", "summary": []}]
        if said.tool:
            output.append(
                {"type": "function_call", "call_id": "call_1", "name": said.tool, "arguments": said.arguments}
            )
        elif said.text:
            output.append({"type": "message", "content": [{"type": "output_text", "text": said.text}]})
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(said.finish)
        prompt, answer = size // 4 + 1, len(said.text) // 4 + 1
        return {
            "id": f"resp_{name[:12]}",
            "object": "response",
            "model": model,
            "error": None,
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "output": output,
            "usage": {
                "input_tokens": prompt,
                "output_tokens": answer,
                "input_tokens_details": {"cached_tokens": min(said.cached, prompt)},
                "output_tokens_details": {"reasoning_tokens": 1},
            },
        }


class Messages:
    """The Messages API of Anthropic."""

    name = "messages"

    def read(self, body: Row) -> Asked:
        _need(body, "model", "messages", "max_tokens")
        user, results = list[str](), list[str]()
        images, last = 0, ""
        for row in body["messages"]:
            role = row["role"]
            if role not in ("user", "assistant") or (not last and role != "user"):
                raise BadRequest(f"messages: unexpected role {role!r}")
            last = role
            blocks = [{"type": "text", "text": row["content"]}] if isinstance(row["content"], str) else row["content"]
            for block in blocks:
                images += _anthropic_image(block)
                if block["type"] == "text" and role == "user":
                    user.append(str(block["text"]))
                elif block["type"] == "tool_result":
                    results.append(str(block["content"]))
        system = body.get("system") or ""
        text = system if isinstance(system, str) else "\n".join(block["text"] for block in system)
        tools = tuple(str(t["name"]) for t in body.get("tools") or () if t["input_schema"]["type"] == "object")
        return Asked(text, "\n".join(user), images, tools, tuple(results))

    def answer(self, name: str, model: str, size: int, said: Said) -> dict[str, JSON]:
        content: list[JSON] = [{"type": "text", "text": said.text}] if said.text else []
        if said.tool:
            content = [{"type": "tool_use", "id": "toolu_1", "name": said.tool, "input": json.loads(said.arguments)}]
        reasons = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use", "filter": "refusal"}
        prompt, cached = size // 4 + 1, min(said.cached, size // 4)
        return {
            "id": f"msg_{name[:12]}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": reasons[said.finish],
            "stop_sequence": None,
            "usage": {
                "input_tokens": prompt - cached,
                "output_tokens": len(said.text) // 4 + 1,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0,
            },
        }

    def error(self, status: int, code: str, message: str) -> dict[str, JSON]:
        return {"type": "error", "error": {"type": code, "message": message}}


def _need(body: Row, *names: str) -> None:
    for name in names:
        if not body.get(name):
            raise BadRequest(f"{name}: field required")


def _chat_content(content: JSON) -> tuple[str, int]:
    if content is None or isinstance(content, str):
        return content or "", 0
    images = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    if not all(url.startswith(("data:image/", "https://", "http://")) for url in images):
        raise BadRequest("messages: invalid image_url")
    return "\n".join(part["text"] for part in content if part["type"] == "text"), len(images)


def _seen(content: JSON) -> list[str]:
    parts = content if isinstance(content, list) else []
    urls = [str(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    inline = [url.partition(";base64,")[2] for url in urls if url.startswith("data:")]
    return [hashlib.sha256(base64.b64decode(data)).hexdigest() for data in inline]


def _responses_content(content: JSON) -> tuple[str, int]:
    if isinstance(content, str):
        return content, 0
    images = [part["image_url"] for part in content if part["type"] == "input_image"]
    if not all(isinstance(url, str) for url in images):
        raise BadRequest("input: image_url must be a string")
    return "\n".join(part["text"] for part in content if part["type"] == "input_text"), len(images)


def _anthropic_image(block: Row) -> int:
    if block["type"] != "image":
        return 0
    source = block["source"]
    if source["type"] == "base64" and not (source["media_type"].startswith("image/") and source["data"]):
        raise BadRequest("messages: image: invalid source")
    return 1


def dumped(row: Row) -> bytes:
    return json.dumps(row).encode()
