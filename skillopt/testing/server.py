"""A model server on the loopback interface: the world behind real HTTP, with latency and faults on demand.

Faults are decided by the request's digest and by how often it was seen, never by order or time: the same run meets the
same storm. It runs inside a loop, in a thread, or as a process (`python -m skillopt.testing.server`).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from skillopt.testing.chance import chance
from skillopt.testing.faults import Counts, Faults
from skillopt.testing.threads import served
from skillopt.testing.wire_formats import BadRequest, Chat, format_of
from skillopt.testing.world import World, write_split
from skillopt.types import JSON


class LoopbackServer:
    """Serves the routes of OpenAI (chat, responses), Azure and Anthropic; `GET /stats`, `POST /reset`."""

    def __init__(
        self,
        world: World | None = None,
        *,
        latency: float = 0.0,
        faults: Faults | None = None,
        seed: int = 0,
        api_key: str | None = None,
        port: int = 0,
    ) -> None:
        self.world = world or World(seed)
        self.counts = Counts()
        self._latency, self._faults, self._seed = latency, faults or Faults(), seed
        self._keys = {f"Bearer {api_key}", api_key} if api_key else None
        self._port = port
        self._runner: web.ServerRunner | None = None
        self.down = False
        """While true, every call gets a 503: an outage that a test begins and ends."""

    @property
    def origin(self) -> str:
        """The address without a path: what an Azure endpoint looks like."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    def stats(self) -> dict[str, JSON]:
        return self.counts.to_dict()

    def reset(self) -> None:
        # Calls that are under way still leave through the same door, so the count of those stays.
        self.counts = Counts(in_flight=self.counts.in_flight, max_in_flight=self.counts.in_flight)

    async def start(self) -> None:
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=4096).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> LoopbackServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @classmethod
    @contextmanager
    def in_thread(
        cls,
        world: World | None = None,
        *,
        latency: float = 0.0,
        faults: Faults | None = None,
        seed: int = 0,
        api_key: str | None = None,
    ) -> Generator[LoopbackServer, None, None]:
        """Serve from a thread of its own, for tests whose own loop is busy or absent."""
        server = cls(world, latency=latency, faults=faults, seed=seed, api_key=api_key)
        with served(server, "loopback-server"):
            yield server

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST" and format_of(request.path):
            return await self._complete(request)
        if request.path == "/stats":
            return _json(200, self.stats())
        if request.path == "/reset" and request.method == "POST":
            self.reset()
            return _json(200, {})
        return _error(404, "not_found", f"there is nothing at {request.path}")

    async def _complete(self, request: web.BaseRequest) -> web.StreamResponse:
        counts = self.counts
        counts.requests += 1
        if self._keys and self._key(request) not in self._keys:
            return _error(401, "invalid_api_key", f"Incorrect API key provided: {self._key(request)}")
        if self.down:
            return _error(503, "service_unavailable", "the service is down")
        counts.in_flight += 1
        counts.max_in_flight = max(counts.max_in_flight, counts.in_flight)
        try:
            return await self._answer(request, await request.read())
        finally:
            # A reset may have put new counts in place, and they took this call over.
            self.counts.in_flight -= 1

    async def _answer(self, request: web.BaseRequest, raw: bytes) -> web.StreamResponse:
        digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
        self.counts.seen[digest] += 1
        time_seen = self.counts.seen[digest]
        if self._latency:
            await asyncio.sleep(self._latency)
        if self._faults.any and (fault := self._faults.pick(chance(self._seed, digest, time_seen))):
            self.counts.faults[fault] += 1
            return await self._fail(request, fault)
        wire = format_of(request.path) or Chat()
        try:
            body: JSON = json.loads(raw)
            asked = wire.read(body)
        except (ValueError, KeyError, TypeError, BadRequest):
            return _error(400, "bad_request", f"the body is not a request of the format {wire.name}")
        said = self.world.respond(asked)
        self.counts.answer(digest, self.world.read(asked.system).role)
        size = len(asked.system) + len(asked.user)
        return _json(200, wire.answer(digest, str(body["model"]), size, said))

    async def _fail(self, request: web.BaseRequest, fault: str) -> web.StreamResponse:
        if fault == "429":
            return _error(429, "rate_limit_exceeded", "too many requests", str(self._faults.retry_after))
        if fault == "500":
            return _error(500, "server_error", "the server had an error")
        if fault == "malformed":
            return web.Response(body=b'{"id": "chatcmpl-0", "choices": [{"index": 0', content_type="application/json")
        if fault == "hang":
            await asyncio.Event().wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    def _key(self, request: web.BaseRequest) -> str:
        headers = request.headers
        return headers.get("Authorization") or headers.get("api-key") or headers.get("x-api-key", "")


def _json(status: int, value: JSON, headers: dict[str, str] | None = None) -> web.Response:
    body = json.dumps(value).encode()
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def _error(status: int, code: str, message: str, retry_after: str = "") -> web.Response:
    headers = {"Retry-After": retry_after} if retry_after else None
    return _json(status, {"error": {"message": message, "code": code, "type": code}}, headers)


async def serve(server: LoopbackServer) -> None:
    """Serve until SIGTERM or SIGINT; the first line on standard output is the address."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await stop.wait()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m skillopt.testing.server", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--api-key", default=None)
    for name in ("latency", "noise", "rate-429", "rate-500", "rate-drop", "rate-malformed", "rate-hang"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--retry-after", type=float, default=Faults().retry_after)
    parser.add_argument("--write-split", type=Path, metavar="DIR", help="write train, val and test items there first")
    parser.add_argument("--sizes", type=int, nargs=3, default=(80, 40, 60), metavar=("TRAIN", "VAL", "TEST"))
    args = parser.parse_args(arguments)
    if args.write_split:
        write_split(args.write_split, *args.sizes, seed=args.seed)
    faults = Faults(args.rate_429, args.retry_after, args.rate_500, args.rate_drop, args.rate_malformed, args.rate_hang)
    world = World(args.seed, args.noise)
    server = LoopbackServer(
        world, latency=args.latency, faults=faults, seed=args.seed, api_key=args.api_key, port=args.port
    )
    asyncio.run(serve(server))


if __name__ == "__main__":
    main()
