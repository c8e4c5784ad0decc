"""How many ALFWorld episodes a second the engines manage with 1, 2 and 4 workers, and what memory that takes.

The games are ours and the player answers at once, so the engine is all that is measured; with a real model it waits
most of the time. Needs `pip install "skillopt[alfworld]"`. An argument is the number of episodes for each row (100).
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from skillopt.agents.chat import ChatAgent
from skillopt.envs.alfworld.adapter import Alfworld
from skillopt.envs.base import DataSource
from skillopt.testing.mini_alfworld import write_alfworld
from skillopt.testing.player import WHOLE_STORY, Player
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import Item


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20
    except OSError:
        return 0


async def measure(items: list[Item], workers: int, episodes: int) -> str:
    benchmark = Alfworld.configured({"history_window": WHOLE_STORY})
    agent, slots = ChatAgent(ScriptedProvider(Player(items, lessons={}))), asyncio.Semaphore(workers)
    engines, most, steps, high = benchmark.desk.engines, 0, 0, list[int]()

    async def one(number: int) -> None:
        nonlocal most, steps
        async with slots:
            attempt = await benchmark.attempt(items[number % len(items)], "", agent)
            steps += attempt.turns
            most = max(most, len(engines.pids))
            high.append(max(map(resident, engines.pids)))

    await asyncio.gather(*(one(n) for n in range(workers)))  # the processes start
    steps, began = 0, time.perf_counter()
    await asyncio.gather(*(one(n) for n in range(episodes)))
    seconds = time.perf_counter() - began
    await engines.close()
    half = len(high) // 2
    return (
        f"{workers} workers: {episodes / seconds:5.2f} episodes/s, {steps / seconds:6.1f} steps/s; at most {most} "
        f"engine processes; largest {max(high[:half])} MB in the first half, {max(high[half:])} MB in the second"
    )


def main() -> None:
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as home:
        write_alfworld(Path(home), each=(1, 1, 1), check=False)
        splits = Alfworld.configured({}).load(DataSource("split_dir", home))
        items = [*splits.train, *splits.val, *splits.test]
        for workers in (1, 2, 4):
            print(asyncio.run(measure(items, workers, episodes)), flush=True)


if __name__ == "__main__":
    main()
