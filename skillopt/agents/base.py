"""A benchmark gives a `Task`; an `Agent` carries it out; neither knows the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from skillopt.model.types import Completion, Message
from skillopt.types import JSON, Attempt


@dataclass(frozen=True, slots=True)
class Task:
    """What the target is asked: the system text already holds the skill where the benchmark wants it.

    `value` is the input itself, where a benchmark has one, for agents that are functions.
    """

    system: str
    user: str
    max_tokens: int = 16384
    timeout: float | None = None
    value: JSON = None


class Agent(Protocol):
    """Whoever carries out tasks. A failed call raises `ModelError`; the rollout room turns it into missing data."""

    async def run(self, task: Task) -> Attempt: ...

    async def chat(self, messages: tuple[Message, ...], *, max_tokens: int, timeout: float | None) -> Completion: ...
