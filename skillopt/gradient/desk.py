"""`Desk`: all that a stage of the backward pass needs of the outside world, handed in as two functions and the prompts.

No stage knows the gateway or the journal's file; a test gives a script and a dict.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel

from skillopt.journal.events import Body, StageStarted
from skillopt.model.structured import Answer
from skillopt.prompts import Prompt, Prompts

MAX_TOKENS = 16384
"""The most an optimizer call may write, unless a stage says otherwise."""

B = TypeVar("B", bound=Body)
T = TypeVar("T", bound=BaseModel)


class Once(Protocol):
    """Return the record of `key`, or run the effect, record its body, and return it."""

    async def __call__(self, key: str, effect: Callable[[], Awaitable[B]]) -> B: ...


class Ask(Protocol):
    """Put a prompt to the optimizer model. An unusable answer is `lost`; a failed call raises `ModelError`."""

    async def __call__(self, prompt: Prompt, schema: type[T], *, stage: str, max_tokens: int) -> Answer[T]: ...


@dataclass(frozen=True, slots=True)
class Desk:
    once: Once
    ask: Ask
    prompts: Prompts

    async def begin(self, at: str, stage: str, of: int = 0) -> None:
        """Record that a stage has begun, so that views can time it."""

        async def started() -> StageStarted:
            return StageStarted(at=at, stage=stage, of=of)

        await self.once(f"{at}/{stage}/started", started)
