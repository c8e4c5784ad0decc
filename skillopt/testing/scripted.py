"""A provider that answers from a script: no network, every request kept for the test to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skillopt.errors import ModelError
from skillopt.model.types import Completion, Request
from skillopt.types import Usage

Script = Sequence["str | ModelError"] | Callable[[Request], "str | ModelError"]


class ScriptedProvider:
    """Answers one after the other, or by a function of the request. An error in the script is raised."""

    def __init__(self, answers: Script, *, identity: str = "scripted") -> None:
        self._answers = answers
        self._identity = identity
        self.requests: list[Request] = []
        self.closed = False

    @property
    def identity(self) -> str:
        return self._identity

    async def complete(self, request: Request) -> Completion:
        answer = self._next(request)
        self.requests.append(request)
        if isinstance(answer, ModelError):
            raise answer
        asked = sum(len(message.text) for message in request.messages)
        return Completion(answer, Usage(calls=1, prompt_tokens=asked // 4, completion_tokens=len(answer) // 4))

    async def close(self) -> None:
        self.closed = True

    def _next(self, request: Request) -> str | ModelError:
        if callable(self._answers):
            return self._answers(request)
        if len(self.requests) >= len(self._answers):
            raise AssertionError(
                f"the script has {len(self._answers)} answers and was asked for one more: {request.stage}"
            )
        return self._answers[len(self.requests)]
