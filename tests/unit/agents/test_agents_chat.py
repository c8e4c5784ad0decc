from __future__ import annotations

import pytest

from skillopt.agents.base import Task
from skillopt.agents.chat import CUT_OFF, ChatAgent
from skillopt.errors import ModelError
from skillopt.model.types import Completion, Message, Request
from skillopt.types import Usage


class Scripted:
    identity = "scripted"

    def __init__(self, *replies: Completion | ModelError) -> None:
        self.replies = list(replies)
        self.seen: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.seen.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        return reply

    async def close(self) -> None: ...


async def test_a_task_is_one_call_with_the_sampling_settings() -> None:
    gateway = Scripted(Completion("four", Usage(calls=1, prompt_tokens=9)))
    agent = ChatAgent(gateway, reasoning_effort="medium", temperature=0.5)
    attempt = await agent.run(Task("sys", "2+2?", max_tokens=77, timeout=3.0))
    request = gateway.seen[0]
    assert request.messages == (Message("system", "sys"), Message("user", "2+2?"))
    assert (request.max_tokens, request.timeout, request.temperature) == (77, 3.0, 0.5)
    assert (request.reasoning_effort, request.stage) == ("medium", "rollout")
    assert attempt.answer == "four" and attempt.usage.prompt_tokens == 9 and attempt.turns == 1
    assert [t.role for t in attempt.trajectory] == ["system", "user", "assistant"]


async def test_an_empty_effort_is_no_effort() -> None:
    gateway = Scripted(Completion("x", Usage()))
    await ChatAgent(gateway, reasoning_effort="").run(Task("s", "u"))
    assert gateway.seen[0].reasoning_effort is None


async def test_a_cut_off_reply_is_noted_for_the_analyst() -> None:
    attempt = await ChatAgent(Scripted(Completion("half an ans", Usage(), finish="length"))).run(Task("s", "u"))
    assert attempt.trajectory[-1] == CUT_OFF
    assert attempt.answer == "half an ans"


async def test_a_failed_call_is_not_an_answer() -> None:
    with pytest.raises(ModelError):
        await ChatAgent(Scripted(ModelError("server", "503"))).run(Task("s", "u"))
