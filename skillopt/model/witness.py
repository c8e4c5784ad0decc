"""What the synchronous calls of one attempt asked, got and used.

A rollout in the guide's batch form is one opaque function. Its calls are seen here, so that they are booked to the
attempt, can be shown to analysts, and a rollout that hid a failed call is not scored as if the model had answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from skillopt.errors import BudgetExhausted, ModelError, SkillOptError
from skillopt.model.types import FATAL, Completion, Request
from skillopt.types import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One call: to the target or to another model, and its answer or the error in its place."""

    to_target: bool
    request: Request
    answer: Completion | None = None
    error: SkillOptError | None = None


@dataclass(slots=True)
class Witness:
    """The calls of one attempt, as they were made. `strays` came from threads that do not say whose they are.

    `marks` are texts that its requests are likely to hold: the fields of the item and the skill.
    """

    marks: tuple[str, ...] = ()
    calls: list[Call] = field(default_factory=list[Call])
    strays: list[Call] = field(default_factory=list[Call])
    ended: bool = False

    @property
    def answered(self) -> bool:
        return any(call.answer for call in self.calls)

    @property
    def unanswered(self) -> ModelError | None:
        """The error of the last call: nothing was answered after it, so there is no answer to score."""
        error = self.calls[-1].error if self.calls else None
        return error if isinstance(error, ModelError) else None

    @property
    def fatal(self) -> SkillOptError | None:
        """An error that ends the run, whatever the rollout made of it."""
        errors = (call.error for call in (*self.calls, *self.strays))
        return next((e for e in errors if isinstance(e, BudgetExhausted) or _is_fatal(e)), None)

    def likeness(self, request: str) -> int:
        """How much of a request is known to come from this attempt, in characters."""
        return sum(len(mark) for mark in self.marks if mark in request)

    def usage(self, *, of_target: bool) -> Usage:
        """What was used; a stray call counts here, so that the run's sum is right whoever made it."""
        calls = (call for call in (*self.calls, *self.strays) if call.to_target is of_target and call.answer)
        return sum((call.answer.usage for call in calls if call.answer), Usage())


_MINE: ContextVar[Witness | None] = ContextVar("skillopt_witness", default=None)


class Witnesses:
    """The attempts of one run that are being witnessed.

    A thread that a rollout starts itself carries no context. Its calls belong to the attempt whose texts they hold;
    where that is not plain they are strays, and the attempt that ends next takes them over: the sum stays right.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[Witness] = []
        self._strays: list[Call] = []

    @contextmanager
    def open(self, marks: tuple[str, ...] = ()) -> Generator[Witness, None, None]:
        witness = Witness(marks)
        with self._lock:
            self._open.append(witness)
        token = _MINE.set(witness)
        try:
            yield witness
        finally:
            _MINE.reset(token)
            with self._lock:
                self._open = [each for each in self._open if each is not witness]
                witness.strays, self._strays = self._strays, []
                witness.ended = True

    def watched(self, to_target: bool, request: Request, ask: Callable[[], Completion]) -> Completion:
        """Make a call in sight. An attempt that was given up makes no further ones."""
        mine = _MINE.get()
        if mine is not None and mine.ended:
            raise SkillOptError("the attempt this call belongs to has ended")
        try:
            answer = ask()
        except SkillOptError as error:
            self._note(mine, Call(to_target, request, error=error))
            raise
        self._note(mine, Call(to_target, request, answer))
        return answer

    def _note(self, mine: Witness | None, call: Call) -> None:
        with self._lock:
            mine = mine or self._likeliest(call.request)
            if mine is not None:
                mine.calls.append(call)
            elif self._open:
                self._strays.append(call)

    def _likeliest(self, request: Request) -> Witness | None:
        if len(self._open) < 2:
            return self._open[0] if self._open else None
        text = "\n".join(message.text for message in request.messages)
        best, second, *_ = sorted(((each.likeness(text), each) for each in self._open), key=lambda pair: -pair[0])
        return best[1] if best[0] > second[0] else None


def _is_fatal(error: SkillOptError | None) -> bool:
    return isinstance(error, ModelError) and error.kind in FATAL
