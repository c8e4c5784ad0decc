"""Web search through a service: one POST a query, the token in the Authorization header and nowhere else.

A service that fails is missing data, like a model that fails, so it raises `ModelError`. A refused token ends the run.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

import aiohttp

from skillopt.errors import ModelError
from skillopt.types import JSON

log = logging.getLogger(__name__)

RETRIES = 4
MOST_CHARACTERS = 4000
_LONGEST_WAIT = 30.0
_LARGEST_ANSWER = 4 << 20
_LISTS = ("results", "data", "items", "organic")
_TITLES, _ADDRESSES, _TEXTS = ("title", "name"), ("url", "link", "href"), ("snippet", "content", "text", "description")


class Search(Protocol):
    """Whoever can look something up. A query without results is an answer, not an error."""

    async def find(self, query: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Service:
    """Where the service is, and what it is asked with each query; `token` is the whole Authorization header."""

    url: str
    token: str = field(default="", repr=False)
    variable: str = ""
    provider: str = "duckduckgo"
    results: int = 4
    seconds: float = 20.0


class HttpSearch:
    """A search service over HTTP. Redirects are not followed: they would carry the token to another address."""

    def __init__(self, service: Service, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._service = service
        self._sleep = sleep

    async def find(self, query: str) -> str:
        wait = 1.0
        for _ in range(RETRIES):
            try:
                return await self._ask(query)
            except ModelError as error:
                if error.kind not in ("rate_limited", "server", "connection", "timeout"):
                    raise
                log.info("a search failed (%s), asking again in %.0f s", error.kind, wait)
                await self._sleep(min(max(wait, error.retry_after or 0.0), _LONGEST_WAIT))
            wait *= 2
        return await self._ask(query)

    async def _ask(self, query: str) -> str:
        service = self._service
        body = {"query": query, "max_num_results": service.results, "provider": service.provider}
        headers = {"Authorization": service.token} if service.token else {}
        limit = aiohttp.ClientTimeout(total=service.seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.post(service.url, json=body, headers=headers, allow_redirects=False) as response,
            ):
                self._check(response.status, response.headers.get("Retry-After", ""))
                raw = await response.content.read(_LARGEST_ANSWER)
        except asyncio.TimeoutError as error:
            raise ModelError("timeout", f"the search service gave no answer within {service.seconds:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            # The library's own words may hold the request's headers.
            raise ModelError("connection", f"the search service cannot be reached ({type(error).__name__})") from None
        text = results_text(raw.decode("utf-8", "replace"))
        return text.replace(service.token, "[token]") if service.token else text

    def _check(self, status: int, after: str) -> None:
        if status < 300:
            return
        said = f"the search service answered with HTTP {status}"
        if status in (401, 403):
            where = f"; check the token in {self._service.variable}" if self._service.variable else ""
            raise ModelError("auth", f"{said}: it refuses the token{where}")
        if status == 404:
            raise ModelError("not_found", f"{said}: check env.search_api_url")
        if status in (408, 429) or status >= 500:
            wait = float(after) if after.isdigit() else None
            raise ModelError("rate_limited" if status == 429 else "server", said, retry_after=wait)
        raise ModelError("bad_request", said + (" (redirects are not followed)" if status < 400 else ""))


def results_text(body: str) -> str:
    """Title, address and text of each result; an answer of another shape as it is."""
    try:
        value: JSON = json.loads(body)
    except ValueError:
        return _cut(body.strip()) or "no results"
    rows = _rows(value)
    if rows is None:
        return _cut(json.dumps(value, ensure_ascii=False))
    shown = [_shown(row) for row in rows]
    return _cut("\n\n".join(text for text in shown if text)) or "no results"


def _rows(value: JSON) -> list[JSON] | None:
    if isinstance(value, list):
        return cast("list[JSON]", value)
    named = cast("dict[str, JSON]", value) if isinstance(value, dict) else {}
    return next((cast("list[JSON]", named[key]) for key in _LISTS if isinstance(named.get(key), list)), None)


def _shown(row: JSON) -> str:
    if not isinstance(row, dict):
        return str(row)
    named = cast("dict[str, JSON]", row)
    found = (next((str(named[key]) for key in keys if named.get(key)), "") for keys in (_TITLES, _ADDRESSES, _TEXTS))
    return "\n".join(text for text in found if text)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "\n[... cut here; ask more narrowly]"
