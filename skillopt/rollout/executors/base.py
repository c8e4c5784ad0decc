"""An executor carries out attempts somewhere; what comes back is the same as if they had run beside the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from skillopt import __version__
from skillopt.agents.base import Agent
from skillopt.envs.base import Benchmark
from skillopt.types import Attempt, Item


class Executor(Protocol):
    """`open` comes first and `close` last; both may be called twice. Whoever calls `attempt` bounds how many run."""

    async def open(self) -> None:
        """Make ready, or say what is in the way, before anything is paid."""
        ...

    async def attempt(self, benchmark: Benchmark, item: Item, skill: str, agent: Agent) -> Attempt:
        """One attempt. `ModelError` is missing data, as from the agent itself; a cancelled attempt stops there too."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """How another machine makes the benchmark: from a name and options, never from an object with open files.

    `make` is given that machine's environment, and holds no credential.
    """

    make: Callable[[Mapping[str, str]], Benchmark] = field(compare=False)
    version: str = field(default=__version__, compare=False)
    name: str = field(default_factory=lambda: uuid4().hex)
    """Equal names mean the same benchmark, so that a machine makes it once."""
