"""How many SpreadsheetBench rollouts a second does the machine manage, and how does that grow with workers?

A target that knows every script, so only our part is measured: sandbox, Python, openpyxl, comparison. One rollout in
mode multi is one trial and one run for each of two cases. Scripts that leave formulas add LibreOffice. With the path of
a folder that holds dataset_50.json and its workbooks, the null baseline of the real samples is told as well.

Scaling ends at the number of processors: `scripts_at_once` bounds the scripts under way.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from skillopt.agents.chat import ChatAgent
from skillopt.envs.base import DataSource
from skillopt.envs.spreadsheetbench import office
from skillopt.envs.spreadsheetbench.adapter import SpreadsheetBench
from skillopt.testing.mini_spreadsheet import formula_script_for, script_for, write_spreadsheets
from skillopt.testing.spreadsheet_model import ScriptWriter
from skillopt.types import Item

_ROLLOUTS = 8


def made(root: Path, comparison: str = "mended") -> SpreadsheetBench:
    found = SpreadsheetBench.configured({"data_root": str(root), "comparison": comparison})
    assert isinstance(found, SpreadsheetBench)
    return found


async def rate(benchmark: SpreadsheetBench, items: list[Item], script: Callable[[str], str], workers: int) -> float:
    """Rollouts a second, all of them right."""
    slots, agent = asyncio.Semaphore(workers), ChatAgent(ScriptWriter(script))

    async def one(item: Item) -> None:
        async with slots:
            attempt = await benchmark.attempt(item, "", agent)
            assert (await benchmark.judged(item, attempt, None)).score.hard == 1.0, item.id

    began = time.perf_counter()
    await asyncio.gather(*map(one, items))
    return len(items) / (time.perf_counter() - began)


def table(name: str, benchmark: SpreadsheetBench, items: list[Item], script: Callable[[str], str]) -> None:
    asyncio.run(rate(benchmark, items[:2], script, 2))  # answers are read once
    first = 0.0
    for workers in (1, 2, 4, 8):
        before = _processor_seconds()
        found = asyncio.run(rate(benchmark, items, script, workers))
        spent = (_processor_seconds() - before) / len(items)
        first = first or found
        told = f"{found:5.2f} rollouts/s, {found / first:4.2f} times one worker"
        print(f"{name:>8}  workers {workers}: {told}, {spent:4.1f} processor seconds a rollout", flush=True)


def _processor_seconds() -> float:
    """Of this process and of all that it has waited for: unlike the rate, the same on a busy machine."""
    rows = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(row.ru_utime + row.ru_stime for row in rows)


def baseline(folder: Path) -> None:
    rows = json.loads((folder / "dataset_50.json").read_text(encoding="utf-8"))
    for comparison in ("mended", "reference"):
        benchmark = made(folder, comparison)
        print(f"{comparison}: {benchmark.null_baseline(benchmark.item(row, 'test') for row in rows)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        split, root = write_spreadsheets(Path(name), (_ROLLOUTS, 1, 1))
        benchmark = made(root)
        items = list(benchmark.load(DataSource("split_dir", str(split))).train)
        print(f"{os.cpu_count()} processors, {len(items)} rollouts of one trial and two cases each")
        table("values", benchmark, items, script_for)
        if office.found():
            chosen = [item for item in items if formula_script_for(str(item.data["instruction"]))]
            table("formulas", benchmark, chosen, formula_script_for)
    if len(sys.argv) > 1:
        baseline(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
