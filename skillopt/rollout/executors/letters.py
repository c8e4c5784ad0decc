"""Model calls of attempts that run elsewhere, as letters to the run: keys, limits, retries and the budget stay there.

A node's machine may die. The attempt then begins anew and asks the same again, and the clerk gives it the answers that
the first one was given, so that nothing is paid twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.agents.function import described
from skillopt.errors import SkillOptError
from skillopt.model.settings import Role
from skillopt.model.types import Completion, Provider, Request
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Letter:
    """One model call. `nth` tells equal requests of one attempt apart."""

    attempt: str
    door: Role
    request: Request
    nth: int = 0


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error of the house as a value; their constructors do not survive pickling."""

    kind: type[SkillOptError]
    args: tuple[JSON, ...]
    state: Mapping[str, JSON]

    @classmethod
    def of(cls, error: SkillOptError) -> Trouble:
        return cls(type(error), error.args, dict(vars(error)))

    @property
    def error(self) -> SkillOptError:
        made = self.kind.__new__(self.kind)
        made.args = self.args
        vars(made).update(self.state)
        return made


Reply = Completion | Trouble


class Mailbox(Protocol):
    """Where a node posts its letters."""

    def ask(self, letter: Letter) -> Awaitable[Reply]: ...


@dataclass(slots=True)
class Door:
    """A `Provider` for code that runs elsewhere: each request goes home as a letter."""

    name: Role
    identity: str
    attempt: str
    mailbox: Mailbox
    _sent: list[Request] = field(default_factory=list[Request])

    async def complete(self, request: Request) -> Completion:
        letter = Letter(self.attempt, self.name, request, self._sent.count(request))
        self._sent.append(request)
        reply = await self.mailbox.ask(letter)
        if isinstance(reply, Trouble):
            raise reply.error
        return reply

    async def close(self) -> None:
        """What is behind the door is closed by the run."""


class PostOffice:
    """Letters wait here until the run collects them, and nodes until their answer is delivered. Belongs to one loop."""

    def __init__(self) -> None:
        self._new: list[tuple[int, Letter]] = []
        self._asking: dict[int, asyncio.Future[Reply]] = {}
        self._bell = asyncio.Event()
        self._number = 0

    async def ask(self, letter: Letter) -> Reply:
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._asking[number] = answer
        self._new.append((number, letter))
        self._bell.set()
        try:
            return await answer
        finally:
            del self._asking[number]

    async def collect(self) -> list[tuple[int, Letter]]:
        """The letters that came since; waits for one when there is none."""
        await self._bell.wait()
        self._bell.clear()
        found, self._new = self._new, []
        return found

    async def deliver(self, number: int, reply: Reply) -> None:
        answer = self._asking.get(number)
        if answer is not None and not answer.done():
            answer.set_result(reply)


class Clerk:
    """Answers letters on the run's side, through the models that the doors lead to."""

    def __init__(self, doors: Mapping[Role, Provider]) -> None:
        self._doors = doors
        self._asked: dict[str, list[tuple[Letter, asyncio.Task[Reply]]]] = {}

    def open(self, attempt: str) -> None:
        self._asked[attempt] = []

    def forget(self, attempt: str) -> None:
        """The attempt has ended: what it still asks is of no use to anybody."""
        for _, answer in self._asked.pop(attempt, ()):
            answer.cancel()

    async def answer(self, letter: Letter) -> Reply | None:
        """The reply; None when the attempt has ended meanwhile."""
        if (asked := self._asked.get(letter.attempt)) is None:
            return None
        answer = next((task for earlier, task in asked if earlier == letter and not _failed(task)), None)
        if answer is None:
            answer = asyncio.get_running_loop().create_task(self._call(letter))
            asked.append((letter, answer))
        await asyncio.wait({answer})
        return None if answer.cancelled() else answer.result()

    async def _call(self, letter: Letter) -> Reply:
        try:
            return await self._doors[letter.door].complete(letter.request)
        except SkillOptError as error:
            return Trouble.of(error)
        except Exception as error:  # noqa: BLE001 - a provider's bug belongs to whoever asked
            return Trouble.of(SkillOptError(f"the model behind {letter.door} failed: {described(error)}"))


def _failed(task: asyncio.Task[Reply]) -> bool:
    return task.done() and (task.cancelled() or isinstance(task.result(), Trouble))
