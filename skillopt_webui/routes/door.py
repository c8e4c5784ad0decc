"""The guard that every request passes, the login page, and the vendored files."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from skillopt.errors import SkillOptError
from skillopt_webui.desk import COOKIE, DESK, Desk
from skillopt_webui.security import HEADERS

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
STATIC = Path(__file__).parent.parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_OPEN = ("/login", "/static/")
_WEEKS = 14 * 24 * 3600
_log = logging.getLogger(__name__)


def add(app: web.Application) -> None:
    app.middlewares.append(guard)
    app.on_response_prepare.append(_headers)
    app.router.add_get("/login", login_page)
    app.router.add_post("/login", login)
    files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in _TYPES}

    async def static(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in files:
            raise web.HTTPNotFound(text="There is no such file.")
        kind = _TYPES[Path(name).suffix]
        return web.Response(body=files[name], content_type=kind, charset="utf-8", headers={"Cache-Control": "no-cache"})

    app.router.add_get("/static/{name}", static)


async def _headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers[name] = value


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Host, token, origin and form key, in this order; then the page, or words about what went wrong."""
    desk = request.app[DESK]
    if not desk.door.knows_host(request.headers.get("Host", "")):
        return web.Response(status=421, text="This name does not belong to the dashboard.\n")
    try:
        if not request.path.startswith(_OPEN) and not desk.door.admits(request.cookies.get(COOKIE)):
            return _knock(request, desk)
        if request.method not in ("GET", "HEAD"):
            await _check_form(request, desk)
        return await handler(request)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _failed(request, desk, error.status, error.text or error.reason)
    except SkillOptError as error:
        return _failed(request, desk, 400, str(error))
    except ConnectionResetError:
        raise
    except Exception:  # noqa: BLE001 - the reader gets a page, the log gets the error
        _log.exception("the page %s failed", request.path)
        return _failed(request, desk, 500, "The page could not be made; the dashboard's own output says why.")


def _knock(request: web.Request, desk: Desk) -> web.StreamResponse:
    """A token in the address is traded for a cookie, so that it does not stay in the address."""
    given = request.query.get("token", "")
    if request.method == "GET" and given and desk.door.is_token(given):
        return _admit("/" + request.path.lstrip("/\\"), desk)
    if request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
        raise web.HTTPSeeOther("/login?wrong=1" if given else "/login")
    return web.Response(status=401, text="A token is needed; it was printed when the dashboard started.\n")


async def _check_form(request: web.Request, desk: Desk) -> None:
    headers = request.headers
    if not desk.door.same_origin(headers.get("Host", ""), headers.get("Origin"), headers.get("Sec-Fetch-Site")):
        raise web.HTTPForbidden(text="This request came from another site, so nothing was done.")
    given = headers.get("X-Form-Key", "")
    if not given and request.content_type == "application/x-www-form-urlencoded":
        value = (await request.post()).get("form_key", "")
        given = value if isinstance(value, str) else ""
    if not desk.door.is_form_key(given):
        raise web.HTTPForbidden(text="The page was older than the dashboard. Reload it and try again.")


def _failed(request: web.Request, desk: Desk, status: int, words: str) -> web.Response:
    if "text/html" not in request.headers.get("Accept", ""):
        return web.Response(status=status, text=f"{words}\n")
    return desk.page("error.html", {"status": status, "words": words}, status=status)


async def login_page(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    wrong = "wrong" in request.query
    return desk.page("login.html", {"wrong": wrong}, status=401 if wrong else 200)


async def login(request: web.Request) -> web.StreamResponse:
    desk = request.app[DESK]
    given = (await request.post()).get("token", "")
    if isinstance(given, str) and desk.door.is_token(given.strip()):
        return _admit("/", desk)
    return desk.page("login.html", {"wrong": True}, status=401)


def _admit(address: str, desk: Desk) -> web.Response:
    made = web.Response(status=303, headers={"Location": address})
    made.set_cookie(
        COOKIE, desk.door.pass_text, httponly=True, samesite="Strict", secure=desk.door.secure, max_age=_WEEKS
    )
    return made
