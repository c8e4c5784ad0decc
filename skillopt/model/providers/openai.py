"""OpenAI, Azure OpenAI and every server that speaks their routes, over HTTP.

One pooled session without a limit of its own: how many calls are in flight is the business of `model.limit`, when to
try again that of `model.retry`. A parameter that a server refuses by name is left out from then on, and a model that
is on the Responses route only is found out by asking.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from functools import cached_property, lru_cache

import aiohttp
from pydantic_core import PydanticSerializationError, to_json

from skillopt.errors import ModelError
from skillopt.model.credentials import TokenSource, token_source
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers import wire_chat, wire_responses
from skillopt.model.providers.failures import Reply, failure, scrub
from skillopt.model.types import Completion, Request
from skillopt.types import JSON

log = logging.getLogger(__name__)

CONNECT_SECONDS = 30.0
LEARNABLE = ("max_completion_tokens", "reasoning_effort", "temperature", "response_format")
_SPELLINGS = {
    "reasoning.effort": "reasoning_effort",
    "text.format": "response_format",
    "json_schema": "response_format",
}


class OpenAIProvider:
    """A `Provider` for one endpoint and one model."""

    def __init__(self, endpoint: Endpoint, tokens: TokenSource | None = None) -> None:
        self._endpoint = endpoint
        self._tokens = tokens or (token_source(endpoint.sign_in) if endpoint.sign_in else None)
        self._session: aiohttp.ClientSession | None = None
        self._refused: frozenset[str] = frozenset()
        self._responses = endpoint.api == "responses" or (
            endpoint.api == "auto" and wire_responses.is_needed(endpoint.model)
        )

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.identity!r})"

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    async def complete(self, request: Request) -> Completion:
        """One call; what the server refuses by name is left out and the call sent again."""
        request = self._fitted(request)
        refused, responses = self._refused, self._responses
        reply = await self._post(request, refused, responses)
        while reply.status in (400, 404, 422):
            if not responses and self._endpoint.api == "auto" and wire_responses.is_asked_for(reply):
                responses = True
            elif reply.status != 404 and (news := _refusals(reply, request) - refused):
                refused |= news
            else:
                break
            reply = await self._post(request, refused, responses)
        if reply.status != 200:
            raise failure(reply, self.identity, self._secret(), self._endpoint.key_variable)
        self._remember(refused, responses)
        wire = wire_responses if responses else wire_chat
        return wire.read(reply, self.identity, self._secret())

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _fitted(self, request: Request) -> Request:
        """The backend's own temperature where the call has none, and its own limit on the answer."""
        own = self._endpoint
        temperature = own.temperature if request.temperature is None else request.temperature
        limit = min(request.max_tokens, own.max_tokens) if own.max_tokens else request.max_tokens
        if (temperature, limit) == (request.temperature, request.max_tokens):
            return request
        return replace(request, temperature=temperature, max_tokens=limit)

    async def _post(self, request: Request, refused: frozenset[str], responses: bool) -> Reply:
        wire = wire_responses if responses else wire_chat
        url = self._endpoint.responses_url if responses else self._endpoint.url
        payload = _encoded(wire.body(request, self._endpoint, refused))
        limit = _limit(request.timeout)
        headers = await self._headers()
        try:
            # A redirect would carry the key to an address nobody configured.
            response = await self._open().post(url, data=payload, headers=headers, timeout=limit, allow_redirects=False)
            # Read to its end, a response gives its connection back by itself; if reading fails, it closes it.
            return Reply(response.status, response.headers, await response.read())
        except asyncio.TimeoutError as exc:
            seconds = f" within {request.timeout:g} s" if request.timeout else ""
            raise ModelError("timeout", f"{self.identity}: no answer{seconds}") from exc
        except aiohttp.InvalidURL as exc:
            raise ModelError("not_found", f"{self.identity}: the endpoint is not a usable URL") from exc
        except (aiohttp.ClientError, OSError) as exc:
            reason = scrub(str(exc) or type(exc).__name__, self._secret())
            raise ModelError("connection", f"{self.identity}: {reason}") from exc

    def _open(self) -> aiohttp.ClientSession:
        """The session belongs to the running loop, so it is made on the first call and not before."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    async def _headers(self) -> dict[str, str]:
        """With the sign-in token of this moment."""
        if self._tokens is None:
            return self._fixed_headers
        return self._fixed_headers | {"Authorization": f"Bearer {(await self._tokens()).get_secret_value()}"}

    @cached_property
    def _fixed_headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "SkillOpt"}
        if self._tokens is not None:
            return headers
        if self._endpoint.auth == "bearer":
            return headers | {"Authorization": f"Bearer {self._secret()}"}
        return headers | ({"api-key": self._secret()} if self._endpoint.auth == "azure_key" else {})

    def _secret(self) -> str:
        key = self._endpoint.api_key
        return key.get_secret_value() if key else ""

    def _remember(self, refused: frozenset[str], responses: bool) -> None:
        if refused == self._refused and responses == self._responses:
            return
        for name in sorted(refused - self._refused - {"max_completion_tokens"}):
            log.warning("%s does not take %s; calls go on without it", self.identity, name)
        if responses and not self._responses:
            log.info("%s is called through the Responses API", self.identity)
        self._refused |= refused
        self._responses |= responses


@lru_cache(maxsize=16)
def _limit(seconds: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)


def _refusals(reply: Reply, request: Request) -> frozenset[str]:
    """Parameters of this request that the server's complaint names and that can be left out."""
    complaint = reply.text()
    named = {name for name in LEARNABLE if name in complaint}
    named |= {name for spelling, name in _SPELLINGS.items() if spelling in complaint}
    sent = {
        "max_completion_tokens": True,
        "reasoning_effort": bool(request.reasoning_effort),
        "temperature": request.temperature is not None,
        "response_format": request.json_schema is not None,
    }
    return frozenset(name for name in named if sent[name])


def _encoded(body: JSON) -> bytes:
    """JSON by the fast way; half a surrogate pair, which a model may have written, goes out escaped by the slow one."""
    try:
        return to_json(body)
    except PydanticSerializationError:
        return json.dumps(body).encode()
