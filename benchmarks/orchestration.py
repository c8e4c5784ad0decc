"""What SkillOpt costs per model call: an evaluation against a bare loop over the same HTTP client and server.

The bare loop sends the same requests and reads the same answers, and does nothing else. The evaluation also loads and
checks the data, builds prompts, scores, retries, counts, journals durably and writes its results. Wanted: a ratio of at
most 1.5 at 1,000 and at 10,000 items.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp
from loopback import loaded, server

from skillopt import app
from skillopt.envs.base import DataSource
from skillopt.envs.searchqa.adapter import SearchQA
from skillopt.skill.document import Skill

WORKERS = 256
ROUNDS = 3


async def bare(url: str, bodies: list[dict[str, object]]) -> None:
    slots = asyncio.Semaphore(WORKERS)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(body: dict[str, object]) -> str:
            async with slots, session.post(f"{url}/chat/completions", json=body) as response:
                return (await response.json())["choices"][0]["message"]["content"]

        await asyncio.gather(*(call(body) for body in bodies))


def request_bodies(split: Path, skill: Path) -> list[dict[str, object]]:
    benchmark = SearchQA.configured({})
    text = Skill.load(skill).text
    tasks = [
        benchmark.task(i, text) for i in benchmark.load(DataSource(split_mode="split_dir", split_dir=str(split))).test
    ]
    return [
        {
            "model": "gpt-5.5",
            "messages": [{"role": "system", "content": t.system}, {"role": "user", "content": t.user}],
            "max_completion_tokens": t.max_tokens,
            "reasoning_effort": "medium",
        }
        for t in tasks
    ]


def measure(n: int, home: Path) -> float:
    split, skill = home / "split", home / "skill.md"
    skill.write_text("# Skill\n\nAnswer briefly.\n")
    with server(split, (1, 1, n)) as url:
        bodies = request_bodies(split, skill)
        ratios: list[float] = []
        for round_ in range(ROUNDS):
            began = time.perf_counter()
            asyncio.run(bare(url, bodies))
            plain = time.perf_counter() - began
            config = loaded(url, split, home / f"out{round_}", env__workers=WORKERS)
            began = time.perf_counter()
            asyncio.run(app.run_evaluation(config, environ={}, skill=skill, split="test"))
            ours = time.perf_counter() - began
            ratios.append(ours / plain)
            print(
                f"{n:>6} items: bare {plain / n * 1e6:5.0f} us, skillopt {ours / n * 1e6:5.0f} us a call: {ours / plain:.2f}"
            )
    return statistics.median(ratios)


def main() -> None:
    for n in (1_000, 10_000):
        with tempfile.TemporaryDirectory() as home:
            print(f"{n:>6} items: median ratio {measure(n, Path(home)):.2f} (wanted: at most 1.50)")


if __name__ == "__main__":
    main()
