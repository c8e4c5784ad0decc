"""Any Python function as the agent under training, or as a model: `f(skill, input) -> output`.

A plain function runs in a thread of its own, so that a slow one holds up nobody and a hung one cannot keep the program
from ending; a coroutine function runs on the run's loop. What it raises makes the item missing data, like a call that
failed.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeVar, cast

from skillopt.agents.base import Ability, Task
from skillopt.errors import ModelError, SkillOptError
from skillopt.model.types import Completion, Message, Provider, Request, Tool
from skillopt.types import JSON, Attempt, Turn, Usage

T = TypeVar("T")
Function = Callable[..., JSON]

_ONE_CALL = Usage(calls=1, unreported=1)


class FunctionAgent:
    """Gives the function the skill's text and the input: the value itself where the benchmark has one."""

    offers: ClassVar[frozenset[Ability]] = frozenset()

    def __init__(self, function: Function, *, timeout: float | None = None) -> None:
        self._function = function
        self._timeout = timeout

    def holding(self, skill: str) -> tuple[FunctionAgent, str]:
        return self, skill

    def away(self, model: Provider) -> FunctionAgent:
        return self

    async def home(self, attempt: Callable[[], Awaitable[Attempt]]) -> Attempt:
        return await attempt()

    async def run(self, task: Task) -> Attempt:
        asked = task.user if task.value is None else task.value
        output = await call(self._function, task.system, asked, timeout=task.timeout or self._timeout)
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
        turns = (Turn("system", task.system), Turn("user", task.user), Turn("assistant", text))
        # What the function spends is its own affair: counted as a call, never as free.
        return Attempt(answer=text, trajectory=turns, usage=replace(_ONE_CALL, unpriced=1))

    async def chat(
        self, messages: tuple[Message, ...], *, max_tokens: int, timeout: float | None, tools: tuple[Tool, ...] = ()
    ) -> Completion:
        raise SkillOptError("this benchmark holds a conversation; a function as target answers single tasks only")


class FunctionModel:
    """A function `f(system, user) -> text` as a provider: an optimizer that is reached through code of one's own."""

    def __init__(self, function: Function | None, identity: str) -> None:
        self._function = function
        self._identity = identity

    @property
    def identity(self) -> str:
        return self._identity

    async def complete(self, request: Request) -> Completion:
        if self._function is None:
            raise SkillOptError(f"the target of this run is {self._identity}: there is no model behind it to call")
        system = "\n\n".join(m.text for m in request.messages if m.role == "system")
        user = "\n\n".join(m.text for m in request.messages if m.role != "system")
        output = await call(self._function, system, user, timeout=request.timeout)
        return Completion(str(output), _ONE_CALL, model=self._identity)

    async def close(self) -> None:
        """There is nothing to close."""


async def call(function: Function, first: str, second: JSON, *, timeout: float | None) -> JSON:
    """One call, in time; errors get the type by which a failed call becomes missing data."""
    try:
        return await asyncio.wait_for(_called(function, first, second), timeout)
    except asyncio.TimeoutError as error:
        raise ModelError("timeout", f"the function gave no answer within {timeout:g} s (env.exec_timeout)") from error
    except SkillOptError:
        raise
    except Exception as error:
        raise ModelError("function_error", f"the function raised {described(error)}") from error


async def _called(function: Function, first: str, second: JSON) -> JSON:
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await cast("Awaitable[JSON]", function(first, second))
    result = await in_thread(lambda: function(first, second))
    return await result if inspect.isawaitable(result) else result


def in_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Daemon threads, one a call: attempts are bounded elsewhere, and none may outlive the program's own end."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast("T", result))

    def run() -> None:
        result, caught = None, None
        try:
            result = context.run(work)
        except Exception as error:  # noqa: BLE001 - it is raised to whoever waits
            caught = error
        # The run may have ended meanwhile, and its loop with it.
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, result, caught)

    threading.Thread(target=run, name="skillopt-target", daemon=True).start()
    return future


def described(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
