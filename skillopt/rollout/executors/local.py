"""Attempts on this machine, as tasks of the run's own loop. A benchmark that needs processes brings its own pool."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.agents.base import Agent
from skillopt.envs.base import Benchmark
from skillopt.types import Attempt, Item


@dataclass(frozen=True, slots=True)
class Local:
    async def open(self) -> None:
        """There is nothing to connect to."""

    async def attempt(self, benchmark: Benchmark, item: Item, skill: str, agent: Agent) -> Attempt:
        return await benchmark.attempt(item, skill, agent)

    async def close(self) -> None:
        """There is nothing to close."""


HERE = Local()
