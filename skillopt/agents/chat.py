"""The plain chat agent: one call for a task, and the raw conversation for benchmarks that take turns themselves."""

from __future__ import annotations

from skillopt.agents.base import Task
from skillopt.model.types import Completion, Message, Provider, Request
from skillopt.types import Attempt, Turn

CUT_OFF = Turn("verdict", "the reply was cut off at the token limit")


class ChatAgent:
    """Sends a task as a system and a user message. Errors of the gateway pass through untouched."""

    def __init__(
        self,
        gateway: Provider,
        *,
        reasoning_effort: str | None = None,
        temperature: float | None = None,
        timeout: float | None = None,
        stage: str = "rollout",
    ) -> None:
        self._gateway = gateway
        self._effort = reasoning_effort or None
        self._temperature = temperature
        self._timeout = timeout
        self._stage = stage

    async def run(self, task: Task) -> Attempt:
        # An empty system message is refused by some providers, and says nothing to the others.
        system = (Message("system", task.system),) if task.system.strip() else ()
        messages = (*system, Message("user", task.user))
        reply = await self.chat(messages, max_tokens=task.max_tokens, timeout=task.timeout)
        turns = (Turn("system", task.system), Turn("user", task.user), Turn("assistant", reply.text))
        noted = (*turns, CUT_OFF) if reply.finish == "length" else turns
        return Attempt(answer=reply.text, trajectory=noted, usage=reply.usage)

    async def chat(self, messages: tuple[Message, ...], *, max_tokens: int, timeout: float | None) -> Completion:
        return await self._gateway.complete(
            Request(
                messages,
                stage=self._stage,
                max_tokens=max_tokens,
                timeout=timeout if timeout is not None else self._timeout,
                temperature=self._temperature,
                reasoning_effort=self._effort,
            )
        )
