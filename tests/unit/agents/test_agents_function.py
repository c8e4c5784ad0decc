"""Functions as agents: threads for plain ones, the loop for coroutines, and errors as missing data."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from skillopt.agents.base import Task
from skillopt.agents.function import FunctionAgent, FunctionModel
from skillopt.errors import ModelError, SkillOptError
from skillopt.model.types import Message, Request

TASK = Task("the skill", "the text", value={"question": 1})


async def test_a_plain_function_gets_skill_and_value_in_a_thread() -> None:
    seen: list[object] = []

    def target(skill: str, value: object) -> object:
        seen.extend((skill, value, threading.current_thread() is threading.main_thread()))
        return {"answer": 2}

    attempt = await FunctionAgent(target).run(TASK)
    assert seen == ["the skill", {"question": 1}, False]
    assert attempt.answer == '{"answer": 2}'
    assert attempt.usage.calls == attempt.usage.unreported == 1


async def test_coroutine_functions_and_callable_objects() -> None:
    async def target(skill: str, text: object) -> str:
        await asyncio.sleep(0)
        return f"{skill}/{text}"

    class Asked:
        async def __call__(self, skill: str, text: object) -> str:
            return await target(skill, text)

    plain = Task("s", "t")
    for function in (target, Asked(), lambda skill, text: target(skill, text)):
        assert (await FunctionAgent(function).run(plain)).answer == "s/t"


async def test_many_slow_functions_run_side_by_side() -> None:
    agent = FunctionAgent(lambda skill, text: time.sleep(0.1) or "done")
    began = time.monotonic()
    await asyncio.gather(*(agent.run(TASK) for _ in range(40)))
    assert time.monotonic() - began < 1.5


async def test_an_error_and_a_late_answer_are_missing_data() -> None:
    def broken(skill: str, text: object) -> str:
        raise KeyError("ticket")

    with pytest.raises(ModelError, match=r"KeyError: 'ticket' \(test_agents_function.py, line \d+\)") as caught:
        await FunctionAgent(broken).run(TASK)
    assert caught.value.kind == "function_error"
    with pytest.raises(ModelError) as late:
        await FunctionAgent(lambda skill, text: time.sleep(0.2), timeout=0.02).run(TASK)
    assert late.value.kind == "timeout"


async def test_a_function_as_model() -> None:
    request = Request((Message("system", "be brief"), Message("user", "hello")), stage="analyst")
    model = FunctionModel(lambda system, user: f"{system}: {user}", "function:mine")
    assert (await model.complete(request)).text == "be brief: hello"
    with pytest.raises(SkillOptError, match="no model behind it"):
        await FunctionModel(None, "function:mine").complete(request)
