"""Any of LiteLLM's vendors, for those who have it: `model.target_backend: litellm`, `model.target: bedrock/...`.

LiteLLM is large and slow to import, so it is an extra and is loaded when a run starts that asks for it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from skillopt.errors import ConfigError, ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers import wire_chat
from skillopt.model.providers.failures import Reply, failure, scrub
from skillopt.model.types import Completion, Request
from skillopt.types import JSON

INSTALL = 'the litellm backend needs LiteLLM: pip install "skillopt[litellm]"'


class LiteLLMProvider:
    """A `Provider` for one of LiteLLM's models; keys are LiteLLM's own variables."""

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            import litellm  # pyright: ignore[reportMissingImports]
        except ImportError as exc:
            raise ConfigError(INSTALL) from exc
        self._endpoint = replace(endpoint, token_field="max_tokens")
        self._litellm: JSON = litellm

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    async def complete(self, request: Request) -> Completion:
        body = wire_chat.body(request, self._endpoint, frozenset())
        call = self._litellm.acompletion(**body, num_retries=0, drop_params=True, timeout=request.timeout)
        try:
            answer: JSON = await asyncio.wait_for(call, request.timeout)
        except asyncio.TimeoutError as exc:
            raise ModelError("timeout", f"{self.identity}: no answer within {request.timeout:g} s") from exc
        except Exception as exc:
            # LiteLLM's errors are those of a hundred vendors; what they share is the HTTP status.
            raise self._typed(exc) from exc
        return wire_chat.read(Reply(200, {}, json.dumps(answer.model_dump()).encode()), self.identity, "")

    async def close(self) -> None:
        return None

    def _typed(self, error: Exception) -> ModelError:
        status = vars(error).get("status_code")
        if isinstance(error, self._litellm.Timeout):
            return ModelError("timeout", f"{self.identity}: {scrub(str(error), '')[:300]}")
        if not isinstance(status, int) or isinstance(error, self._litellm.APIConnectionError):
            return ModelError("connection", f"{self.identity}: {scrub(str(error), '')[:300]}")
        reply = Reply(status, {}, str(error).encode())
        return failure(reply, self.identity, "", self._endpoint.key_variable)
