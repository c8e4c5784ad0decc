"""What every handler needs, put together once by `server.create_app`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web
from jinja2 import Environment

from skillopt.types import JSON
from skillopt_webui.launching import Launcher
from skillopt_webui.pages.run import run_head
from skillopt_webui.processes import Children
from skillopt_webui.reading.catalogue import Entry
from skillopt_webui.reading.follower import Follower
from skillopt_webui.reading.library import Library
from skillopt_webui.security import Doorkeeper

COOKIE = "skillopt_dashboard"


@dataclass(slots=True)
class Desk:
    library: Library
    door: Doorkeeper
    templates: Environment
    launcher: Launcher
    children: Children
    environ: Callable[[], Mapping[str, str]]
    """What commands are started with; asked for each time, since a `.env` file may have changed."""
    playing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def page(self, template: str, context: Mapping[str, JSON], status: int = 200) -> web.Response:
        text = self.templates.get_template(template).render({"form_key": self.door.form_key, **context})
        return web.Response(text=text, status=status, content_type="text/html", headers={"Cache-Control": "no-store"})

    async def run(self, request: web.Request) -> tuple[Entry, Follower]:
        """The run that an address names; the name is looked up, never made into a path."""
        entry = self.library.catalogue.get(request.match_info["run"])
        if entry is None:
            raise web.HTTPNotFound(text="There is no such run here. It may have been moved or deleted.")
        entry.asked = time.monotonic()
        return entry, await self.library.open(entry)

    def head(self, entry: Entry, follower: Follower) -> dict[str, JSON]:
        how = self.library.standing(entry)
        head = run_head(entry.id, entry.name, follower, how, time.time())
        return head | {"events_at": f"/runs/{entry.id}/events", "state": state_of(follower, how.word)}


DESK = web.AppKey("desk", Desk)


def state_of(follower: Follower, word: str) -> str:
    """What a page of a run depends on: the page holds it, and live messages are compared with it."""
    return f"{follower.view.events} {word} {follower.behind} {follower.lift is not None}"


def whole(request: web.Request, name: str) -> int | None:
    """A whole number from the query, or None for anything else."""
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
