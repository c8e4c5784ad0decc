"""What runs on a node: one attempt at a time in a process that Ray keeps for the next, so a benchmark is made once.

Nothing is judged or written here, and model calls go home through doors.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from skillopt import __version__
from skillopt.agents.base import Agent
from skillopt.agents.function import described
from skillopt.envs.base import Benchmark
from skillopt.errors import ConfigError, DataError, ModelError, SkillOptError
from skillopt.model.current import bind
from skillopt.model.gateway import Gateway
from skillopt.model.meter import Stats
from skillopt.rollout.executors.base import Recipe
from skillopt.rollout.executors.letters import Door, Trouble
from skillopt.types import Attempt, Item

_HEARTBEAT = 0.5
"""Ray's cancel only sets a flag, which a loop that waits for a socket would not see before it wakes."""


@dataclass(frozen=True, slots=True)
class Voice:
    """How the target is asked by benchmarks that call it themselves."""

    reasoning_effort: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent for one attempt, beside the recipe and the skill, which many attempts share."""

    item: Item
    agent: Agent
    target: Door
    optimizer: Door
    voice: Voice


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark as this process keeps it, with the loop that its engines and boxes belong to."""

    benchmark: Benchmark
    loop: asyncio.AbstractEventLoop

    def attempt(self, skill: str, parcel: Parcel) -> Attempt:
        work = self.loop.create_task(self._attempt(skill, parcel))
        try:
            self.loop.run_until_complete(_awake(work))
        except BaseException:
            # Cancelled from home: what the attempt has started is ended in order, processes included.
            work.cancel()
            self.loop.run_until_complete(asyncio.gather(work, return_exceptions=True))
            raise
        return work.result()

    async def _attempt(self, skill: str, parcel: Parcel) -> Attempt:
        target, optimizer = (Gateway(door, Stats(), None) for door in (parcel.target, parcel.optimizer))
        effort, temperature = parcel.voice.reasoning_effort, parcel.voice.temperature
        with bind(target, optimizer, self.loop, reasoning_effort=effort, temperature=temperature):
            return await self.benchmark.attempt(parcel.item, skill, parcel.agent)


async def _awake(work: asyncio.Task[Attempt]) -> None:
    while not work.done():
        await asyncio.wait({work}, timeout=_HEARTBEAT)


def attempted(recipe: Recipe, skill: str, parcel: Parcel) -> Attempt | Trouble:
    """One attempt on this node. What goes wrong comes back as a value, with the words for a person."""
    try:
        return _bench(recipe).attempt(skill, parcel)
    except ModelError as error:
        return Trouble.of(error)
    except Exception as error:  # noqa: BLE001 - it is raised to whoever sent the attempt
        return Trouble.of(_told(error, parcel.item))


@lru_cache(maxsize=2)
def _bench(recipe: Recipe) -> Bench:
    if recipe.version != __version__:
        raise ConfigError(
            f"node {socket.gethostname()} has skillopt {__version__}, the run has {recipe.version}: install the same "
            "version on every node"
        )
    # This process was started by Ray: its environment is the node's, and there is no command line that could read it.
    return Bench(recipe.make(os.environ), _loop())


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """One for the process: what a benchmark keeps open between attempts is bound to it."""
    return asyncio.new_event_loop()


def _told(error: Exception, item: Item) -> SkillOptError:
    node = socket.gethostname()
    if (file := _missing(error)) is not None:
        return DataError(
            f"item {item.id!r} needs the file {file}, which node {node} does not have. Put the data where every node "
            "sees it under the same path (a shared file system), or use env.executor: local."
        )
    if isinstance(error, SkillOptError):
        return error
    return SkillOptError(
        f"the attempt at item {item.id!r} failed on node {node}: {described(error)}. Nothing was recorded for this "
        "item; mend the benchmark or the node and start again."
    )


def _missing(error: BaseException) -> str | None:
    files = (e.filename for e in _chain(error) if isinstance(e, FileNotFoundError) and e.filename)
    return next((str(file) for file in files), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
