"""What every scorer is: a judgement of one output, and a complaint about answers that it could never judge.

The complaint is asked for each row before anything is paid, so a column that does not fit its scorer is found at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from skillopt.types import JSON, Score

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Case:
    """What an output is compared with: the expected answer, the labels of the data set, and the whole row."""

    answer: JSON = None
    choices: tuple[str, ...] = ()
    row: Mapping[str, JSON] | None = None

    @property
    def golds(self) -> tuple[str, ...]:
        """The accepted answers as texts; a list means any of them."""
        several = isinstance(self.answer, list)
        answers = cast("list[JSON]", self.answer) if several else [self.answer]
        return tuple(as_text(answer) for answer in answers if answer is not None)


class Grader(Protocol):
    """A scorer. It never raises on an output, however strange."""

    def grade(self, output: str, case: Case) -> Score: ...

    def complaint(self, case: Case) -> str:
        """Why no output could ever be judged right against this case; "" when it is fine."""
        ...


def passed(soft: float = 1.0) -> Score:
    return Score(1.0, soft)


def failed(reason: str, soft: float = 0.0) -> Score:
    return Score(0.0, soft, {"fail_reason": reason})


def verdict(right: bool, reason: str) -> Score:
    return passed() if right else failed(reason)


def as_text(value: JSON) -> str:
    """A value as the model is shown it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain(text: str) -> str:
    """Without regard to case and white space."""
    return " ".join(text.casefold().split())


def shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + " ...")
