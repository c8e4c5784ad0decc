"""Chat completions over HTTP for OpenAI, Azure OpenAI and every server that speaks their routes.

One pooled session without a limit of its own: how many calls are in flight is the business of `model.limit`, when to
try again that of `model.retry`. A parameter that a server refuses by name is left out from then on.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping

import aiohttp

from skillopt.errors import ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.failures import Reply, failure, scrub
from skillopt.model.types import Completion, Request
from skillopt.types import JSON, Usage

log = logging.getLogger(__name__)

CONNECT_SECONDS = 30.0
LEARNABLE = ("max_completion_tokens", "reasoning_effort")


class OpenAIProvider:
    """A `Provider` for one endpoint and one model."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = endpoint.url
        self._session: aiohttp.ClientSession | None = None
        self._refused: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.identity!r})"

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    async def complete(self, request: Request) -> Completion:
        """One call; a parameter the server refuses by name is left out and the call sent again."""
        refused = self._refused
        reply = await self._post(request, refused)
        while reply.status in (400, 422) and (news := _refusals(reply, request) - refused):
            refused |= news
            reply = await self._post(request, refused)
        if reply.status != 200:
            raise failure(reply, self.identity, self._secret())
        self._remember(refused)
        return _read(reply, self.identity, self._secret())

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(self, request: Request, refused: frozenset[str]) -> Reply:
        payload = json.dumps(_body(request, self._endpoint.model, refused)).encode()
        limit = aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_SECONDS)
        try:
            # A redirect would carry the key to an address nobody configured.
            async with self._open().post(self._url, data=payload, timeout=limit, allow_redirects=False) as response:
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
                connector=aiohttp.TCPConnector(limit=0), headers=self._headers(), cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "SkillOpt"}
        if self._endpoint.auth == "bearer":
            headers["Authorization"] = f"Bearer {self._secret()}"
        elif self._endpoint.auth == "azure_key":
            headers["api-key"] = self._secret()
        return headers

    def _secret(self) -> str:
        key = self._endpoint.api_key
        return key.get_secret_value() if key else ""

    def _remember(self, refused: frozenset[str]) -> None:
        news = refused - self._refused
        self._refused |= refused
        if "reasoning_effort" in news:
            log.warning("%s does not take reasoning_effort; calls go on without it", self.identity)


def _body(request: Request, model: str, refused: frozenset[str]) -> dict[str, JSON]:
    tokens = "max_tokens" if "max_completion_tokens" in refused else "max_completion_tokens"
    body: dict[str, JSON] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        tokens: request.max_tokens,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.reasoning_effort and "reasoning_effort" not in refused:
        body["reasoning_effort"] = request.reasoning_effort
    return body | dict(request.extra)


def _refusals(reply: Reply, request: Request) -> frozenset[str]:
    """Parameters of this request that the server's complaint names and that can be left out."""
    complaint = reply.text()
    named = {name for name in LEARNABLE if name in complaint}
    return frozenset(named if request.reasoning_effort else named - {"reasoning_effort"})


def _read(reply: Reply, identity: str, secret: str) -> Completion:
    """Take a 200 body apart; anything but a choice with a message is the provider's mistake."""
    try:
        body = json.loads(reply.body)
        if not body.get("choices") and body.get("error"):
            raise failure(reply.inner(body["error"]), identity, secret)
        choice = body["choices"][0]
        message = choice["message"]
        text = _text(message.get("content")) or _text(message.get("refusal"))
        finish = str(choice.get("finish_reason") or "stop")
        completion = Completion(text, _usage(body.get("usage")), finish, str(body.get("model") or ""))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as exc:
        raise ModelError(
            "malformed", f"{identity}: not a chat completion: {scrub(reply.text()[:300], secret)}"
        ) from exc
    if not text.strip() and finish == "stop":
        raise ModelError("empty", f"{identity}: the model answered without text")
    if not text.strip() and finish == "content_filter":
        raise ModelError("content_filter", f"{identity}: the content filter withheld the answer")
    return completion


def _text(content: JSON) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _usage(row: JSON) -> Usage:
    if not isinstance(row, Mapping) or not row:
        return Usage(calls=1, unreported=1)
    prompt_details: Mapping[str, JSON] = row.get("prompt_tokens_details") or {}
    completion_details: Mapping[str, JSON] = row.get("completion_tokens_details") or {}
    return Usage(
        calls=1,
        prompt_tokens=int(row.get("prompt_tokens") or 0),
        completion_tokens=int(row.get("completion_tokens") or 0),
        cached_tokens=int(prompt_details.get("cached_tokens") or 0),
        reasoning_tokens=int(completion_details.get("reasoning_tokens") or 0),
    )
