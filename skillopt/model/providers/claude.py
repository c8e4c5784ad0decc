"""Claude over the Messages API, through Anthropic's own SDK with its retries turned off."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from skillopt.errors import ConfigError, ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers import wire_anthropic
from skillopt.model.providers.failures import Reply, failure, scrub
from skillopt.model.types import Completion, Request
from skillopt.types import JSON

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

log = logging.getLogger(__name__)

LONGEST_CALL = 600.0
LEARNABLE = {
    "effort": "effort",
    "output_config.format": "format",
    "output_format": "format",
    "temperature": "temperature",
}
INSTALL = 'the claude_chat backend needs Anthropic\'s SDK: pip install "skillopt[claude]"'


class ClaudeProvider:
    """A `Provider` for one Claude model. The SDK is loaded with the first provider, not with the package."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._refused: frozenset[str] = frozenset()
        self._client: AsyncAnthropic | None = None
        try:
            import anthropic
        except ImportError as exc:
            raise ConfigError(INSTALL) from exc
        self._sdk = anthropic

    def __repr__(self) -> str:
        return f"ClaudeProvider({self.identity!r})"

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    async def complete(self, request: Request) -> Completion:
        """One call; a parameter that the model refuses by name is left out and the call sent again."""
        limit = min(request.max_tokens, self._endpoint.max_tokens or request.max_tokens)
        request = replace(request, max_tokens=limit)
        refused = self._refused
        reply = await self._post(request, refused)
        while reply.status == 400 and (news := _refusals(reply, request) - refused):
            refused |= news
            reply = await self._post(request, refused)
        if reply.status != 200:
            raise failure(reply, self.identity, self._secret(), self._endpoint.key_variable)
        for name in sorted(refused - self._refused):
            log.warning("%s does not take %s; calls go on without it", self.identity, name)
        self._refused |= refused
        return wire_anthropic.read(reply, self.identity, self._secret())

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _post(self, request: Request, refused: frozenset[str]) -> Reply:
        sdk = self._sdk
        seconds = request.timeout or LONGEST_CALL
        body = wire_anthropic.body(request, self._endpoint, refused)
        try:
            # The SDK's own limit starts anew with every byte; a call must end when its time is over.
            response = await asyncio.wait_for(self._create(body, seconds), seconds)
        except (sdk.APITimeoutError, asyncio.TimeoutError) as exc:
            raise ModelError("timeout", f"{self.identity}: no answer within {seconds:g} s") from exc
        except sdk.APIStatusError as exc:
            return Reply(exc.response.status_code, exc.response.headers, exc.response.content)
        except sdk.APIConnectionError as exc:
            reason = scrub(str(exc.__cause__ or exc), self._secret())
            raise ModelError("connection", f"{self.identity}: {reason}") from exc
        return response

    async def _create(self, body: dict[str, JSON], seconds: float) -> Reply:
        """The answer as it came: our own reading of it says more about a broken one than the SDK's."""
        rest = {name: value for name, value in body.items() if name not in ("model", "max_tokens", "messages")}
        response = await self._open().messages.with_raw_response.create(
            model=body["model"],
            max_tokens=body["max_tokens"],
            messages=body["messages"],
            extra_body=rest,
            timeout=seconds,
        )
        return Reply(200, response.headers, response.http_response.content)

    def _open(self) -> AsyncAnthropic:
        """The client belongs to the running loop, so it is made on the first call and not before."""
        if self._client is None:
            self._client = self._sdk.AsyncAnthropic(
                api_key=self._secret() or "none",
                base_url=self._endpoint.base_url,
                max_retries=0,
                default_headers={"User-Agent": "SkillOpt"},
            )
        return self._client

    def _secret(self) -> str:
        key = self._endpoint.api_key
        return key.get_secret_value() if key else ""


def _refusals(reply: Reply, request: Request) -> frozenset[str]:
    complaint = reply.text()
    sent = {
        "effort": bool(request.reasoning_effort),
        "format": request.json_schema is not None,
        "temperature": request.temperature is not None,
    }
    return frozenset(name for word, name in LEARNABLE.items() if word in complaint and sent[name])
