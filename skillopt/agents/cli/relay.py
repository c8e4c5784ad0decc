"""The only way from a box to a model: a socket whose other end knows a few addresses and holds the key.

The program inside has no network and no key. What passes is counted here, and seen: whether the skill reached the
model, what the calls cost, and how the provider failed, whatever the program makes of it. The house's one retry policy
is applied here, so that a passing 529 does not cost a whole attempt; the programs' own retries are off.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import socket
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from skillopt.agents.cli.spent import Reader
from skillopt.errors import ModelError
from skillopt.model.credentials import TokenSource
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.failures import Reply, failure
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import TRANSIENT
from skillopt.types import JSON, Usage

log = logging.getLogger(__name__)

_LARGEST = 256 << 20
_OWN = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "accept-encoding"}
    | {"authorization", "x-api-key", "api-key"}
)
"""Headers that are not passed on: those of the connection, and a key that is none."""
_BACK = frozenset({"content-type", "retry-after", "request-id", "x-request-id"})
_QUIET = 900.0
"""Seconds without a byte after which an answer is given up; the attempt's own time limit comes first."""


@dataclass(slots=True)
class Seen:
    """What passed. `trouble` is the failure that no later answer made good."""

    usage: Usage = field(default_factory=Usage)
    retries: int = 0
    trouble: ModelError | None = None
    skill: bool = False


@dataclass(slots=True)
class Relay:
    """One for each attempt. `wanted` are the lines of the skill; all of them must appear in one request."""

    endpoint: Endpoint
    routes: Mapping[str, str]
    header: str
    policy: RetryPolicy
    wanted: tuple[str, ...] = ()
    tokens: TokenSource | None = None
    seen: Seen = field(default_factory=Seen)

    @asynccontextmanager
    async def at(self, place: Path | None) -> AsyncGenerator[str, None]:
        """Serve on a socket at `place`, or without one on a port of this machine; gives the port's address."""
        server = web.Server(self._handle, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await runner.setup()
        try:
            site = web.SockSite(runner, _socket(place)) if place else web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield "" if place else f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        url = next((url for end, url in self.routes.items() if request.path.endswith(end)), None)
        if url is None or request.method != "POST":
            return web.Response(status=404 if request.method != "HEAD" else 200)
        body = bytearray()
        async for piece in request.content.iter_chunked(1 << 16):
            body += piece
            if len(body) > _LARGEST:
                return web.Response(status=413)
        self._look(bytes(body))
        if request.query_string and "?" not in url:
            url = f"{url}?{request.query_string}"
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _OWN} | await self._credentials()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=_QUIET)
        async with aiohttp.ClientSession(timeout=timeout, auto_decompress=True) as session:
            return await self._passed(session, request, url, bytes(body), headers)

    async def _passed(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, url: str, body: bytes, headers: dict[str, str]
    ) -> web.StreamResponse:
        began, failures = time.monotonic(), 0
        while True:
            try:
                async with session.post(url, data=body, headers=headers, allow_redirects=False) as answer:
                    if answer.status == 200:
                        return await self._streamed(request, answer)
                    refused = await answer.read()
                    back = {k: v for k, v in answer.headers.items() if k.lower() in _BACK}
                    self.seen.trouble = self._failure(Reply(answer.status, answer.headers, refused))
                    status = answer.status
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                self.seen.trouble = self._lost(error)
                status, refused, back = 502, b"", dict[str, str]()
            failures += 1
            wait = self._wait(self.seen.trouble, failures, time.monotonic() - began)
            if wait is None:
                return web.Response(status=status, body=refused, headers=back)
            self.seen.retries += 1
            await asyncio.sleep(wait)

    async def _streamed(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = {k: v for k, v in answer.headers.items() if k.lower() in _BACK}
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        reader, present = Reader(), True
        try:
            async for piece in answer.content.iter_any():
                reader.feed(piece)
                # Programs hang up as soon as they have what they wanted; the rest still tells what it cost.
                present = present and await _written(response, piece)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            self.seen.trouble = self._lost(error)
            if request.transport is not None:
                request.transport.close()
        else:
            self.seen.trouble = None
            with suppress(ConnectionError):
                await response.write_eof()
        finally:
            self.seen.usage += reader.usage()
        return response

    def _wait(self, error: ModelError, failures: int, spent: float) -> float | None:
        """Seconds until the next try, by the house's policy; None: give up."""
        policy = self.policy
        if error.kind not in TRANSIENT or failures >= policy.max_attempts:
            return None
        drawn = random.random() * min(policy.cap, policy.base * 2 ** min(failures - 1, 30))
        wait = drawn + (error.retry_after or 0.0)
        return wait if spent + wait < policy.deadline else None

    def _lost(self, error: Exception) -> ModelError:
        return ModelError("connection", f"{self.endpoint.identity}: {type(error).__name__}: {error}")

    def _failure(self, reply: Reply) -> ModelError:
        key = self.endpoint.api_key
        return failure(reply, self.endpoint.identity, key.get_secret_value() if key else "", self.endpoint.key_variable)

    async def _credentials(self) -> dict[str, str]:
        endpoint = self.endpoint
        if self.tokens is not None:
            return {"Authorization": f"Bearer {(await self.tokens()).get_secret_value()}"}
        if endpoint.api_key is None:
            return {}
        key = endpoint.api_key.get_secret_value()
        return {self.header: f"Bearer {key}" if self.header == "Authorization" else key}

    def _look(self, body: bytes) -> None:
        if self.seen.skill or not self.wanted:
            return
        try:
            text = "\n".join(_texts(json.loads(body)))
        except ValueError:
            return
        self.seen.skill = all(line in text for line in self.wanted)


def _socket(place: Path) -> socket.socket:
    """A socket at a path of any length: the system takes a hundred characters, so its folder is named by a number."""
    made = socket.socket(socket.AF_UNIX)
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        made.bind(f"/proc/self/fd/{folder}/{place.name}")
    finally:
        os.close(folder)
    return made


async def _written(response: web.StreamResponse, piece: bytes) -> bool:
    try:
        await response.write(piece)
    except ConnectionError:
        return False
    return True


def lines_of(skill: str) -> tuple[str, ...]:
    """The lines by which a skill is known again, however a program wraps or numbers them."""
    return tuple(line for line in (line.strip() for line in skill.splitlines()) if line)


def _texts(value: JSON) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]
