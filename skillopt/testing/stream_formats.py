"""The streaming formats in which agent programs talk to models: Messages, Responses and Chat Completions.

Written from what the real programs send and accept. A reply is a text, a command for the program's shell, or a file to
be looked at; each format knows what the tools for these are called there.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from skillopt.types import JSON

Row = Mapping[str, JSON]
USAGE = (700, 40)
"""Tokens that every reply is said to take, in and out."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a request says. `text` is all of it that a model reads: instructions, prompts and results of tools."""

    text: str
    user: str
    results: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    """The SHA-256 of each picture that came inline."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the model says. One of: `text`, a `shell` command, a file to `look` at; `status` is an HTTP error."""

    text: str = ""
    shell: str = ""
    look: str = ""
    status: int = 0
    hangs: bool = False


class StreamFormat(Protocol):
    def heard(self, body: Row) -> Heard: ...

    def stream(self, number: int, model: str, spoken: Spoken) -> Iterator[str]:
        """Server-sent events, each already in its frame."""
        ...

    def whole(self, number: int, model: str, spoken: Spoken) -> Row:
        """The reply to a request that wants no stream."""
        ...

    def error(self, status: int) -> Row: ...


def format_of(path: str) -> StreamFormat | None:
    if path.endswith("/messages"):
        return MessagesStream()
    if path.endswith("/responses"):
        return ResponsesStream()
    return ChatStream() if path.endswith("/chat/completions") else None


class MessagesStream:
    """The Messages API of Anthropic, as Claude Code uses it."""

    def heard(self, body: Row) -> Heard:
        system = body.get("system") or ""
        texts = [system if isinstance(system, str) else _texts(system)]
        users, results, seen = list[str](), list[str](), list[str]()
        for row in body["messages"]:
            for block in _blocks(row["content"]):
                seen += _inline(block)
                if block.get("type") == "tool_result":
                    results.append(_texts(block.get("content") or ""))
                    seen += [name for part in _blocks(block.get("content") or "") for name in _inline(part)]
                elif block.get("type") == "text" and row["role"] == "user":
                    users.append(str(block["text"]))
        tools = tuple(str(tool["name"]) for tool in body.get("tools") or ())
        return Heard("\n".join((*texts, *users, *results)), "\n".join(users), tuple(results), tools, tuple(seen))

    def stream(self, number: int, model: str, spoken: Spoken) -> Iterator[str]:
        asked, said = USAGE
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": []}
        usage = {"input_tokens": asked, "output_tokens": 1}
        yield _event("message_start", message=message | {"stop_reason": None, "usage": usage})
        tool = self._tool(number, spoken)
        block = tool | {"input": {}} if tool else {"type": "text", "text": ""}
        yield _event("content_block_start", index=0, content_block=block)
        if tool:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(tool["input"])}
        else:
            delta = {"type": "text_delta", "text": spoken.text}
        yield _event("content_block_delta", index=0, delta=delta)
        yield _event("content_block_stop", index=0)
        reason = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
        yield _event("message_delta", delta=reason, usage={"input_tokens": asked, "output_tokens": said})
        yield _event("message_stop")

    def whole(self, number: int, model: str, spoken: Spoken) -> Row:
        tool = self._tool(number, spoken)
        content = [tool] if tool else [{"type": "text", "text": spoken.text}]
        usage = {"input_tokens": USAGE[0], "output_tokens": USAGE[1]}
        head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "usage": usage}
        return head | {"content": content, "stop_reason": "tool_use" if tool else "end_turn"}

    def error(self, status: int) -> Row:
        kind = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": f"the test asked for {status}"}}

    def _tool(self, number: int, spoken: Spoken) -> dict[str, JSON] | None:
        if spoken.shell:
            name, arguments = "Bash", {"command": spoken.shell, "description": "a step"}
        elif spoken.look:
            name, arguments = "Read", {"file_path": spoken.look}
        else:
            return None
        return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


class ResponsesStream:
    """The Responses API of OpenAI, as Codex uses it."""

    def heard(self, body: Row) -> Heard:
        texts, users = [str(body.get("instructions") or "")], list[str]()
        results, seen = list[str](), list[str]()
        for row in body["input"]:
            content = row.get("content") or row.get("output") or ""
            seen += [name for part in _blocks(content) for name in _inline(part)]
            if str(row.get("type")).endswith("_output"):
                results.append(_texts(content))
            elif row.get("role") in ("user", "developer"):
                (users if row["role"] == "user" else texts).append(_texts(content))
        tools = tuple(str(tool.get("name") or tool["type"]) for tool in body.get("tools") or ())
        return Heard("\n".join((*texts, *users, *results)), "\n".join(users), tuple(results), tools, tuple(seen))

    def stream(self, number: int, model: str, spoken: Spoken) -> Iterator[str]:
        done = self.whole(number, model, spoken)
        item = done["output"][0]
        yield _event("response.created", response={**done, "status": "in_progress", "output": []})
        yield _event("response.output_item.added", output_index=0, item=item)
        if item["type"] == "message":
            yield _event("response.output_text.delta", output_index=0, content_index=0, delta=spoken.text)
        yield _event("response.output_item.done", output_index=0, item=item)
        yield _event("response.completed", response=done)

    def whole(self, number: int, model: str, spoken: Spoken) -> Row:
        asked, said = USAGE
        head = {"id": f"resp_{number}", "object": "response", "model": model, "status": "completed"}
        usage = {"input_tokens": asked, "output_tokens": said, "total_tokens": asked + said}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return head | {"output": [self._item(number, spoken)], "usage": usage | details}

    def error(self, status: int) -> Row:
        return {"error": {"message": f"the test asked for {status}", "type": "server_error", "code": str(status)}}

    def _item(self, number: int, spoken: Spoken) -> dict[str, JSON]:
        if spoken.shell:
            name, arguments = "exec_command", {"cmd": spoken.shell}
        elif spoken.look:
            name, arguments = "view_image", {"path": spoken.look}
        else:
            content = [{"type": "output_text", "text": spoken.text, "annotations": []}]
            return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
        call = {"name": name, "arguments": json.dumps(arguments), "call_id": f"call_{number}"}
        return {"type": "function_call", "id": f"fc_{number}", "status": "completed"} | call


class ChatStream:
    """Chat Completions, as the Copilot program uses it with a provider of one's own."""

    def heard(self, body: Row) -> Heard:
        texts, users = list[str](), list[str]()
        results, seen = list[str](), list[str]()
        for row in body["messages"]:
            content = row.get("content") or ""
            seen += [name for part in _blocks(content) for name in _inline(part)]
            into = {"user": users, "tool": results, "system": texts, "developer": texts}.get(row["role"])
            if into is not None:
                into.append(_texts(content))
        tools = tuple(str(tool[tool["type"]]["name"]) for tool in body.get("tools") or ())
        return Heard("\n".join((*texts, *users, *results)), "\n".join(users), tuple(results), tools, tuple(seen))

    def stream(self, number: int, model: str, spoken: Spoken) -> Iterator[str]:
        done = self.whole(number, model, spoken)
        choice = done["choices"][0]
        delta = dict(choice["message"])
        if "tool_calls" in delta:
            delta["tool_calls"] = [call | {"index": 0} for call in delta["tool_calls"]]
        chunk = {k: v for k, v in done.items() if k != "usage"} | {"object": "chat.completion.chunk"}
        yield _data(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield _data(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
        yield _data(chunk | {"choices": [], "usage": done["usage"]})
        yield "data: [DONE]\n\n"

    def whole(self, number: int, model: str, spoken: Spoken) -> Row:
        message: dict[str, JSON] = {"role": "assistant", "content": spoken.text or None}
        call = self._call(spoken)
        if call:
            message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": call}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
        asked, said = USAGE
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": model}
        return head | {"choices": [choice], "usage": usage}

    def error(self, status: int) -> Row:
        return {"error": {"message": f"the test asked for {status}", "type": "server_error", "code": str(status)}}

    def _call(self, spoken: Spoken) -> Row | None:
        if spoken.shell:
            return {"name": "bash", "arguments": json.dumps({"command": spoken.shell, "description": "a step"})}
        return {"name": "view", "arguments": json.dumps({"path": spoken.look})} if spoken.look else None


def _event(kind: str, **fields: JSON) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def _data(row: Row) -> str:
    return f"data: {json.dumps(row)}\n\n"


def _blocks(content: JSON) -> list[Row]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _texts(content: JSON) -> str:
    return "\n".join(str(block["text"]) for block in _blocks(content) if "text" in block)


def _inline(block: Row) -> list[str]:
    """The digest of a picture, in any of the three shapes."""
    source, url = block.get("source"), block.get("image_url")
    data = ""
    if isinstance(source, dict):
        data = str(source.get("data") or "")
    elif url:
        data = str(url if isinstance(url, str) else url["url"]).partition(";base64,")[2]
    return [hashlib.sha256(base64.b64decode(data)).hexdigest()] if data else []
