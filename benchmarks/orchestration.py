"""What SkillOpt costs per model call: `skillopt eval` against a bare loop that does the same job by hand.

The bare loop reads the items, builds the prompts, sends them through the same HTTP client, scores the answers, writes
the results, and does nothing else. The command also checks data and configuration, retries, limits, counts, names each
result by content, records it durably before it counts, and feeds the display. Wanted: a ratio of at most 1.5 at 1,000
and at 10,000 items. Run it on an idle machine.
"""

from __future__ import annotations

import asyncio
import gc
import io
import json
import statistics
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

import aiohttp
from loopback import CONFIG, server

from skillopt.cli import run
from skillopt.cli.work import evaluate
from skillopt.envs.searchqa.adapter import SearchQA
from skillopt.types import Attempt, Item

WORKERS = 256
ROUNDS = 5


async def bare(url: str, split: Path, skill: Path, out: Path) -> None:
    benchmark, text, slots = SearchQA.configured({}), skill.read_text(), asyncio.Semaphore(WORKERS)
    rows = json.loads((split / "test" / "items.json").read_text())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def attempt(row: dict[str, object]) -> dict[str, object]:
            item = Item(str(row["id"]), "test", "qa", row, "")
            task = benchmark.task(item, text)
            messages = [{"role": "system", "content": task.system}, {"role": "user", "content": task.user}]
            body = {"model": "gpt-5.5", "messages": messages, "max_completion_tokens": task.max_tokens}
            async with slots, session.post(f"{url}/chat/completions", json=body) as response:
                answer = (await response.json())["choices"][0]["message"]["content"]
            score = benchmark.score(item, Attempt(answer, ()))
            return {"id": item.id, "hard": score.hard, "soft": score.soft, "answer": answer}

        results = await asyncio.gather(*(attempt(row) for row in rows))
    out.write_text("".join(json.dumps(row) + "\n" for row in results))


def by_hand(url: str, split: Path, skill: Path, out: Path) -> float:
    """Seconds of the bare loop, under the collector's own defaults."""
    gc.collect()
    gc.set_threshold(700, 10, 10)
    began = time.perf_counter()
    asyncio.run(bare(url, split, skill, out))
    return time.perf_counter() - began


def by_skillopt(url: str, split: Path, skill: Path, out: Path) -> float:
    """Seconds of the command, everything after the start of the interpreter included."""
    gc.collect()
    arguments = [
        "--config",
        str(CONFIG),
        "--skill",
        str(skill),
        "--split",
        "test",
        "--plain",
        "--split_dir",
        str(split),
    ]
    arguments += ["--azure_openai_endpoint", url, "--workers", str(WORKERS), "--out_root", str(out)]
    began = time.perf_counter()
    with redirect_stdout(io.StringIO()):
        code = run(evaluate, "skillopt-eval", arguments)
    assert code == 0
    return time.perf_counter() - began


def measure(n: int, home: Path) -> float:
    split, skill = home / "split", home / "skill.md"
    skill.write_text("# Skill\n\nAnswer briefly.\n")
    with server(split, (1, 1, n)) as url:
        ratios: list[float] = []
        by_skillopt(url, split, skill, home / "warm")  # imports are paid once a process, not once a call
        for turn in range(ROUNDS):
            plain = by_hand(url, split, skill, home / "bare.jsonl")
            ours = by_skillopt(url, split, skill, home / f"out{turn}")
            ratios.append(ours / plain)
            each = f"bare {plain / n * 1e6:.0f} us, skillopt {ours / n * 1e6:.0f} us"
            print(f"{n:>6} items, each call: {each}, ratio {ours / plain:.2f}")
    return statistics.median(ratios)


def main() -> None:
    for n in (1_000, 10_000):
        with tempfile.TemporaryDirectory() as home:
            print(f"{n:>6} items: median ratio {measure(n, Path(home)):.2f} (wanted: at most 1.50)")


if __name__ == "__main__":
    main()
