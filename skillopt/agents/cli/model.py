"""An agent program as a model: `codex_exec` in the optimizer's place. It gets a prompt and an empty workspace."""

from __future__ import annotations

from dataclasses import replace

from skillopt.agents.cli.agent import CliAgent
from skillopt.errors import ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.types import Completion, Image, Request


class CliModel:
    """A `Provider`. Retries, limits and the budget are the gateway's, as for every other one."""

    def __init__(self, agent: CliAgent) -> None:
        self._agent = replace(agent, policy=replace(agent.policy, max_attempts=1))

    @property
    def endpoint(self) -> Endpoint:
        return self._agent.endpoint

    @property
    def identity(self) -> str:
        return self._agent.identity

    async def complete(self, request: Request) -> Completion:
        if request.tools or any(isinstance(part, Image) for message in request.messages for part in message.parts):
            raise ModelError("bad_request", f"{self.identity}: an agent program as a model takes text only")
        prompt = "\n\n".join(message.text.strip() for message in request.messages)
        text, usage = await self._agent.answer(prompt, schema=request.json_schema, timeout=request.timeout)
        return Completion(text, usage, model=self._agent.endpoint.model)

    async def close(self) -> None:
        """Nothing stays open between calls."""
