"""A loopback server that speaks every vendor's routes and does what the prompt says: `fault:429`, `use a tool`, ...

The prompt decides, so one contract can put every provider through the same misfortunes without knowing its format.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from aiohttp import web

from skillopt.testing.wire_formats import Asked, BadRequest, Format, Said, dumped, format_of
from skillopt.types import JSON

_FAULT = re.compile(r"fault:(\w+)")
_STATUSES: Mapping[str, tuple[int, str, str]] = {
    "auth": (401, "invalid_api_key", "the key {key} is not valid"),
    "forbidden": (403, "permission_error", "no access to this model"),
    "missing": (404, "not_found_error", "there is no such model"),
    "bad": (400, "invalid_request_error", "top_k: must be positive"),
    "context": (400, "context_length_exceeded", "prompt is too long: 300000 tokens > 200000 maximum"),
    "blocked": (400, "content_filter", "the content management policy refuses this"),
    "429": (429, "rate_limit_error", "slow down"),
    "quota": (429, "insufficient_quota", "you exceeded your current quota"),
    "500": (500, "api_error", "internal error"),
    "503": (503, "service_unavailable", "try again"),
    "529": (529, "overloaded_error", "overloaded"),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, JSON]
    asked: Asked | None = None


@dataclass(slots=True)
class WireServer:
    """`key` is what callers must present, `refuses` names unknown parameters, `responses_only` a model."""

    key: str = ""
    refuses: tuple[str, ...] = ()
    responses_only: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.ServerRunner | None = None
    _port: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> WireServer:
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        wire = format_of(request.path)
        query = {name: values[0] for name, values in parse_qs(request.query_string).items()}
        if wire is None or request.method != "POST" or ("/openai/" in request.path and "api-version" not in query):
            return web.Response(status=404, text="Resource not found")
        body: JSON = json.loads(await request.read())
        seen = Seen(request.path, query, dict(request.headers), body)
        self.seen.append(seen)
        self.asked.set()
        if problem := self._refusal(request, wire, body):
            return problem
        try:
            asked = wire.read(body)
        except (BadRequest, KeyError, TypeError) as error:
            return _error(wire, 400, "invalid_request_error", f"{error}")
        self.seen[-1] = Seen(seen.path, seen.query, seen.headers, seen.body, asked)
        return await self._answer(request, wire, body, asked)

    def _refusal(self, request: web.BaseRequest, wire: Format, body: Mapping[str, JSON]) -> web.Response | None:
        headers = request.headers
        presented = headers.get("x-api-key") or headers.get("api-key") or headers.get("Authorization", "")
        presented = presented.removeprefix("Bearer ")
        if wire.name == "messages" and "anthropic-version" not in request.headers:
            return _error(wire, 400, "invalid_request_error", "anthropic-version: header is required")
        if self.key and presented != self.key:
            return _error(wire, 401, "authentication_error", f"invalid key: {presented}")
        if wire.name == "chat" and body.get("model") == self.responses_only:
            text = "This model is only supported in v1/responses and not in v1/chat/completions."
            return _error(wire, 404, "invalid_request_error", text)
        flat = json.dumps({name: value for name, value in body.items() if name not in ("messages", "input", "system")})
        for name in self.refuses:
            if f'"{name}"' in flat:
                return _error(wire, 400, "unsupported_parameter", f"Unsupported parameter: '{name}' is not supported")
        return None

    async def _answer(
        self, request: web.BaseRequest, wire: Format, body: Mapping[str, JSON], asked: Asked
    ) -> web.StreamResponse:
        fault = match[1] if (match := _FAULT.search(asked.user)) else ""
        if fault in _STATUSES:
            status, code, text = _STATUSES[fault]
            key = request.headers.get("x-api-key") or request.headers.get("Authorization", "")
            return _error(wire, status, code, text.format(key=key), {"Retry-After": "0.05"} if status == 429 else {})
        if fault == "hang":
            await asyncio.Event().wait()
        if fault == "slow":
            await asyncio.sleep(0.15)
        if fault == "drop" and request.transport is not None:
            request.transport.abort()
            return web.Response()
        if fault == "malformed":
            return web.Response(body=b'{"id": "x", "con', content_type="application/json")
        said = _said(fault, asked)
        size = len(asked.system) + len(asked.user)
        return web.Response(
            body=dumped(wire.answer("0" * 12, str(body["model"]), size, said)), content_type="application/json"
        )


def _said(fault: str, asked: Asked) -> Said:
    if fault == "empty":
        return Said("")
    if fault == "filter":
        return Said("", "filter")
    if fault == "length":
        return Said("cut off he", "length")
    if asked.results:
        return Said(f"the tool said {asked.results[-1]}")
    if asked.tools and "use a tool" in asked.user:
        return Said("", "tool", tool=asked.tools[0])
    if asked.images:
        return Said(f"I see {asked.images} image(s)")
    return Said(f"You said: {asked.user[:80]}", cached=3)


def _error(
    wire: Format, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    body = dumped(wire.error(status, code, message))
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
