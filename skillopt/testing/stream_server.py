"""A loopback model for agent programs: it streams as the vendors do, and a `Mind` decides what it says.

The world and the pupil can stand behind it. They find the skill wherever the program has put it: in a prompt, in a
message of its own, or in a file that it was asked to read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import web

from skillopt.testing.stream_formats import Heard, Spoken, StreamFormat, format_of
from skillopt.testing.threads import served
from skillopt.testing.wire_formats import Asked
from skillopt.testing.world import World
from skillopt.types import JSON

Mind = Callable[[Heard], Spoken]


@dataclass(frozen=True, slots=True)
class Got:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, JSON]
    heard: Heard


@dataclass(slots=True)
class StreamServer:
    mind: Mind
    got: list[Got] = field(default_factory=list[Got])
    _runner: web.ServerRunner | None = None
    _port: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    async def start(self) -> None:
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> StreamServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @classmethod
    @contextmanager
    def in_thread(cls, mind: Mind) -> Generator[StreamServer, None, None]:
        """Serve from a thread of its own, for tests that start programs and wait for them."""
        server = cls(mind)
        with served(server, "stream-server"):
            yield server

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        wire = format_of(request.path)
        if wire is None or request.method != "POST":
            return web.Response(status=404 if request.method == "GET" else 200)
        body: JSON = json.loads(await request.read())
        heard = wire.heard(body)
        self.got.append(Got(request.path, dict(request.headers), body, heard))
        spoken = self.mind(heard)
        if spoken.hangs:
            await asyncio.Event().wait()
        if spoken.status:
            return _json(wire.error(spoken.status), spoken.status)
        number, model = len(self.got), str(body["model"])
        if not body.get("stream"):
            return _json(wire.whole(number, model, spoken))
        return await _streamed(request, wire, number, model, spoken)


async def _streamed(
    request: web.BaseRequest, wire: StreamFormat, number: int, model: str, spoken: Spoken
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    # Programs hang up as soon as they have what they wanted.
    with suppress(ConnectionError):
        for event in wire.stream(number, model, spoken):
            await response.write(event.encode())
        await response.write_eof()
    return response


def _json(row: Mapping[str, JSON], status: int = 200) -> web.Response:
    return web.Response(status=status, body=json.dumps(row).encode(), content_type="application/json")


def worldly(world: World, *, opening: str = "") -> Mind:
    """The world as a mind. With `opening`, a shell command, it first looks around and then answers from all it read."""

    def mind(heard: Heard) -> Spoken:
        if opening and not heard.results:
            return Spoken(shell=opening)
        # One text for both: where the skill stands is the program's choice.
        asked = Asked(heard.text, heard.text, len(heard.seen), (), heard.results, heard.seen)
        return Spoken(world.respond(asked).text)

    return mind
