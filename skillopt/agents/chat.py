"""The plain chat agent: one call for a task, or rounds of tool calls until the model answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import ClassVar

from skillopt.agents.base import Ability, Task, Toolbox
from skillopt.agents.pictures import parts
from skillopt.model.types import Completion, Message, Provider, Request, Text, Tool, ToolCall
from skillopt.types import JSON, Attempt, Turn

CUT_OFF = Turn("verdict", "the reply was cut off at the token limit")
_ANSWER_NOW = "There are no tool calls left. Answer now from what you have found."


class ChatAgent:
    """Sends a task as a system and a user message. Errors of the gateway pass through untouched."""

    offers: ClassVar[frozenset[Ability]] = frozenset({"images", "tools", "conversation"})

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

    def holding(self, skill: str) -> tuple[ChatAgent, str]:
        return self, skill

    def away(self, model: Provider) -> ChatAgent:
        return ChatAgent(
            model,
            reasoning_effort=self._effort,
            temperature=self._temperature,
            timeout=self._timeout,
            stage=self._stage,
        )

    async def home(self, attempt: Callable[[], Awaitable[Attempt]]) -> Attempt:
        return await attempt()

    async def run(self, task: Task) -> Attempt:
        # An empty system message is refused by some providers, and says nothing to the others.
        system = (Message("system", task.system),) if task.system.strip() else ()
        pictures = await parts(task.pictures)
        user = Message("user", (Text(task.user), *pictures) if pictures else task.user)
        if task.tools is not None:
            return await self._with_tools(task, task.tools, (*system, user))
        reply = await self.chat((*system, user), max_tokens=task.max_tokens, timeout=task.timeout)
        turns = (*opening(task), Turn("assistant", reply.text))
        noted = (*turns, CUT_OFF) if reply.finish == "length" else turns
        return Attempt(answer=reply.text, trajectory=noted, usage=reply.usage)

    async def chat(
        self, messages: tuple[Message, ...], *, max_tokens: int, timeout: float | None, tools: tuple[Tool, ...] = ()
    ) -> Completion:
        return await self._gateway.complete(
            Request(
                messages,
                stage=self._stage,
                max_tokens=max_tokens,
                timeout=timeout if timeout is not None else self._timeout,
                temperature=self._temperature,
                reasoning_effort=self._effort,
                tools=tools,
            )
        )

    async def _with_tools(self, task: Task, box: Toolbox, messages: tuple[Message, ...]) -> Attempt:
        turns, usage, rounds = [*opening(task)], None, 0
        while True:
            last = rounds >= task.max_turns
            asked = (*messages, Message("user", _ANSWER_NOW)) if last else messages
            tools = () if last else box.tools
            reply = await self.chat(asked, max_tokens=task.max_tokens, timeout=task.timeout, tools=tools)
            usage = reply.usage if usage is None else usage + reply.usage
            rounds += 1
            if reply.text.strip() or not reply.tool_calls:
                turns.append(Turn("assistant", reply.text))
            if last or not reply.tool_calls:
                noted = (*turns, CUT_OFF) if reply.finish == "length" else tuple(turns)
                return Attempt(reply.text, noted, usage, turns=rounds)
            messages = (*messages, Message("assistant", reply.text, tool_calls=reply.tool_calls))
            for call in reply.tool_calls:
                result = await _called(box, call)
                turns += [Turn("action", f"{call.name}({call.arguments})"), Turn("tool", result)]
                messages = (*messages, Message("tool", result, tool_call_id=call.id))


def opening(task: Task) -> tuple[Turn, ...]:
    """How a trajectory begins; a picture is named, not stored."""
    shown = "".join(f"\n[image: {picture.path.name}]" for picture in task.pictures)
    return Turn("system", task.system), Turn("user", task.user + shown)


async def _called(box: Toolbox, call: ToolCall) -> str:
    """A call the model wrote badly is answered with what was wrong, so that it can mend it."""
    if call.name not in {tool.name for tool in box.tools}:
        return f"error: there is no tool {call.name!r}; the tools are {', '.join(t.name for t in box.tools)}"
    try:
        arguments: JSON = json.loads(call.arguments or "{}")
    except ValueError as error:
        return f"error: the arguments are not JSON ({error}); send one JSON object"
    if not isinstance(arguments, dict):
        return "error: the arguments must be one JSON object"
    return await box.call(call.name, arguments)
