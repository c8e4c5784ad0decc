"""The small frozen values a `RunView` hands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.types import Failure


@dataclass(frozen=True, slots=True)
class Status:
    name: Literal["empty", "running", "stopped", "finished"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """One process at work on the run, from its first event to its last."""

    started: float
    last: float

    @property
    def seconds(self) -> float:
        return max(0.0, self.last - self.started)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage has come. `of` is 0 when nobody said how many results to expect."""

    at: str
    stage: str
    done: int
    of: int
    started: float


@dataclass(frozen=True, slots=True)
class Missing:
    """A rollout without a score, and why."""

    at: str
    stage: str
    item: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class Mishap:
    """Model work that could not be used: a lost reflection, or a merge or selection that fell back."""

    at: str
    stage: str
    reason: str
