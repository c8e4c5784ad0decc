"""Server-sent events: a line whenever a journal or a process moved; the page then fetches itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from skillopt_webui.desk import DESK, Desk, state_of
from skillopt_webui.reading.catalogue import Entry

_POLL = 0.2
_CATCHING_UP = 1.5
_LIST_POLL = 0.5
_STANDING = 1.0
_ALIVE = 15.0


def add(app: web.Application) -> None:
    app.router.add_get("/events", list_events)
    app.router.add_get("/runs/{run}/events", run_events)


async def run_events(request: web.Request) -> web.StreamResponse:
    desk = request.app[DESK]
    entry = desk.library.catalogue.get(request.match_info["run"])
    if entry is None:
        raise web.HTTPNotFound(text="There is no such run here.")
    return await _stream(request, _run_changes(desk, entry))


async def list_events(request: web.Request) -> web.StreamResponse:
    return await _stream(request, _list_changes(request.app[DESK]))


async def _stream(request: web.Request, changes: AsyncIterator[str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
    response.content_type = "text/event-stream"
    told = time.monotonic()
    # Whoever listened may leave at any moment; that is no error.
    with suppress(ConnectionResetError):
        await response.prepare(request)
        async for change in changes:
            if request.transport is None or request.transport.is_closing():
                break
            if change or time.monotonic() - told > _ALIVE:
                told = time.monotonic()
                await response.write(f"data: {change}\n\n".encode() if change else b": still here\n\n")
    return response


async def _run_changes(desk: Desk, entry: Entry) -> AsyncIterator[str]:
    """What a page of a run depends on; "" when nothing moved."""
    known, checked, word = "", 0.0, ""
    while not desk.closing.is_set():
        follower = await desk.library.open(entry)
        if time.monotonic() - checked > _STANDING:
            checked, word = time.monotonic(), desk.library.standing(entry).word
        now = state_of(follower, word)
        yield now if now != known else ""
        known = now
        # While a journal is being read for the first time, reading comes first.
        await _pause(desk, _CATCHING_UP if follower.far_behind else _POLL)


async def _list_changes(desk: Desk) -> AsyncIterator[str]:
    known = ""
    while not desk.closing.is_set():
        entries = desk.library.list()
        now = str(hash(tuple((e.id, e.summed, desk.library.standing(e).word) for e in entries)))
        yield now if now != known else ""
        known = now
        await _pause(desk, _LIST_POLL)


async def _pause(desk: Desk, seconds: float) -> None:
    try:
        await asyncio.wait_for(desk.closing.wait(), seconds)
    except asyncio.TimeoutError:
        return
