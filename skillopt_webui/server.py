"""The application: rooms put together, nothing decided here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from skillopt_webui.desk import DESK, Desk
from skillopt_webui.launching import Launcher
from skillopt_webui.processes import Children
from skillopt_webui.reading.library import Library
from skillopt_webui.routes import act, door, live, look
from skillopt_webui.security import Doorkeeper
from skillopt_webui.text import markdown, visible


@dataclass(frozen=True, slots=True)
class Settings:
    """`here` is where commands run and configurations are looked for; `data` are further folders a form may name."""

    runs: Path
    here: Path
    data: tuple[Path, ...] = ()


def create_app(settings: Settings, keeper: Doorkeeper, environ: Callable[[], Mapping[str, str]]) -> web.Application:
    app = web.Application(client_max_size=act.LARGEST_FILE + 65_536)
    app[DESK] = Desk(
        library=Library(settings.runs.resolve()),
        door=keeper,
        templates=_templates(),
        launcher=Launcher(settings.here, settings.runs, settings.data),
        children=Children(),
        environ=environ,
    )
    for room in (door, look, live, act):
        room.add(app)
    app.on_startup.append(_first_look)
    app.on_shutdown.append(_close)
    return app


def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("skillopt_webui"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_finalize,
    )  # fmt: skip
    made.filters["md"] = markdown
    made.filters["visible"] = visible
    return made


def _finalize(value: object) -> object:
    """Every text that is not markup of our own passes through `visible` on its way to the page."""
    return visible(value) if type(value) is str else value


async def _first_look(app: web.Application) -> None:
    """Begin to read the runs before anybody asks."""
    app[DESK].library.list()


async def _close(app: web.Application) -> None:
    app[DESK].closing.set()
    await app[DESK].library.close()
