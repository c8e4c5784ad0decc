"""A benchmark gives a `Task`; an `Agent` carries it out; neither knows the other.

A task says what it comes with: pictures, tools, folders. An agent says what it `offers`; a benchmark that `needs` more
is refused before the run starts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol, runtime_checkable

from skillopt.model.types import Completion, Message, Provider, Tool
from skillopt.types import JSON, Attempt

Ability = Literal["images", "tools", "conversation", "files"]
"""Seeing pictures, calling the task's tools, taking turns through `chat`, working on files in a folder of its own."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file that belongs to the question; `detail` is the provider's word for how closely to look."""

    path: Path
    detail: str = "auto"


class Toolbox(Protocol):
    """The tools of one attempt. `call` never raises for a bad argument: it answers with what was wrong."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    async def call(self, name: str, arguments: Mapping[str, JSON]) -> str: ...


@dataclass(frozen=True, slots=True)
class Task:
    """What the target is asked: the system text already holds the skill where the benchmark wants it.

    `value` is the input itself, where a benchmark has one, for agents that are functions. An agent with hands of its
    own (a CLI in a workspace) is shown `folders` to read instead of being given `tools`.
    """

    system: str
    user: str
    max_tokens: int = 16384
    timeout: float | None = None
    value: JSON = None
    pictures: tuple[Picture, ...] = ()
    tools: Toolbox | None = None
    max_turns: int = 1
    """Rounds of tool calls before the target must answer."""
    folders: tuple[Path, ...] = ()
    files: tuple[tuple[Path, str], ...] = ()
    """Files that an agent with a workspace finds there as copies, each under the given relative name."""


class Agent(Protocol):
    """Whoever carries out tasks. A failed call raises `ModelError`; the rollout room turns it into missing data."""

    offers: ClassVar[frozenset[Ability]]

    def holding(self, skill: str) -> tuple[Agent, str]:
        """Who carries out tasks under this skill, and the text of it that the benchmark still has to show.

        A model is shown the skill in the prompt. An agent that keeps skills where it looks for them itself takes it,
        and leaves nothing to show.
        """
        ...

    async def run(self, task: Task) -> Attempt: ...

    async def chat(
        self, messages: tuple[Message, ...], *, max_tokens: int, timeout: float | None, tools: tuple[Tool, ...] = ()
    ) -> Completion: ...


@runtime_checkable
class Traveller(Protocol):
    """An agent that can also work on another machine: it is pickled and carries out the attempt there."""

    def away(self, model: Provider) -> Agent:
        """The agent as it is sent: without connections and counts of the run.

        `model` leads back to the run's target: an agent that calls it needs no key there, and the run's limits hold.
        """
        ...

    async def home(self, attempt: Callable[[], Awaitable[Attempt]]) -> Attempt:
        """Have an attempt made away, and book what `model` does not see of it."""
        ...
