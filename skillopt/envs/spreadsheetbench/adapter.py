"""SpreadsheetBench as a benchmark: a request about a workbook, a script that carries it out, cells compared.

An attempt's answer is the script, so it can be judged again: the script runs on every case in the sandbox, and only
what that run writes is compared. An item is named by its workbooks' content; where they lie does not enter the name.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import ClassVar
from weakref import WeakKeyDictionary

from skillopt.agents.base import Agent, Task
from skillopt.agents.sandbox import Sandbox, sandbox
from skillopt.envs.base import Benchmark, Judgement, Options
from skillopt.envs.frame import Frame
from skillopt.envs.spreadsheetbench import office
from skillopt.envs.spreadsheetbench.bench import Bench
from skillopt.envs.spreadsheetbench.compare import Verdict, listed
from skillopt.envs.spreadsheetbench.golds import Golds, gold_reply
from skillopt.envs.spreadsheetbench.modes import dialogue, on_first_case
from skillopt.envs.spreadsheetbench.options import SpreadsheetOptions
from skillopt.envs.spreadsheetbench.preview import preview
from skillopt.envs.spreadsheetbench.rows import KINDS, item_of, wanted_of
from skillopt.envs.spreadsheetbench.script import as_reply, script_in
from skillopt.envs.spreadsheetbench.workshop import Baseline, Workshop, untouched
from skillopt.errors import ConfigError
from skillopt.model.types import Provider
from skillopt.skill.examples import Example
from skillopt.types import JSON, Attempt, Item, Score

_SHOWN_REFERENCE = 40
_PHASES = {"run": "exec", "output": "exec", "cells": "eval"}


class SpreadsheetBench(Benchmark):
    name: ClassVar[str] = "spreadsheetbench"
    Config: ClassVar[type[Options]] = SpreadsheetOptions
    task_types: ClassVar[tuple[str, ...]] = KINDS
    required: ClassVar[tuple[str, ...]] = ("id", "instruction", "answer_position")

    def __init__(self, options: SpreadsheetOptions) -> None:
        self._options = options
        self._system = Frame.beside(__file__, f"{options.mode}.md")
        self._preview = lru_cache(maxsize=1024)(preview)
        self._golds = Golds()
        self._box = lru_cache(maxsize=1)(partial(sandbox, options.sandbox))
        self._workshops: WeakKeyDictionary[asyncio.AbstractEventLoop, Workshop] = WeakKeyDictionary()

    def within(self, environ: Mapping[str, str]) -> SpreadsheetBench:
        """Where a run is about to start: a machine that cannot run scripts safely is refused now."""
        self._machine()
        return self

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        return item_of(row, split, Path(self._options.data_root).expanduser())

    def task(self, item: Item, skill: str) -> Task:
        data = item.data
        sheet = f" (sheet {data['answer_sheet']})" if data["answer_sheet"] else ""
        user = (
            f"Request:\n{data['instruction']}\n\nKind of request: {data['instruction_type'] or 'not said'}\n"
            f"Cells that will be checked: {data['answer_position']}{sheet}\n\n"
            f"The workbook begins like this:\n\n{self._preview(wanted_of(item).cases[0].input)}"
        )
        return Task(self._system(skill), user, max_tokens=self._options.max_completion_tokens)

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        needed = {"single": None, "multi": "conversation", "react": "tools"}[self._options.mode]
        if needed is not None and needed not in agent.offers:
            raise ConfigError(
                f"env.mode {self._options.mode} needs a target with {needed}; this one answers once: use single"
            )
        workshop = self._workshop()
        task = await asyncio.to_thread(self.task, item, skill)
        if self._options.mode == "single":
            book = (wanted_of(item).cases[0].input, "input.xlsx")
            return await agent.run(replace(task, files=(book,)) if "files" in agent.offers else task)
        wanted = wanted_of(item)
        if self._options.mode == "multi":
            return await dialogue(task, agent, self._options.max_turns, on_first_case(workshop, wanted))
        with tempfile.TemporaryDirectory(prefix="skillopt-bench-") as folder:
            bench = Bench(workshop, Path(folder), wanted.cases[0].input)
            done = await agent.run(replace(task, tools=bench, max_turns=self._options.max_turns))
            left = bench.script()
        return replace(done, answer=as_reply(left) if left.strip() else _last_block(done.answer))

    async def judged(self, item: Item, attempt: Attempt, model: Provider | None) -> Judgement:
        script = script_in(attempt.answer)
        if not script:
            return Judgement(_nothing(len(wanted_of(item).cases)))
        return Judgement(_score(await self._workshop().judged(script, wanted_of(item))))

    def score(self, item: Item, attempt: Attempt) -> Score:
        """`judged` for callers without an event loop; in a thread, since one may be running here."""
        if not script_in(attempt.answer):
            return _nothing(len(wanted_of(item).cases))
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(self.judged(item, attempt, None))).result().score

    def gold(self, item: Item) -> str:
        wanted = wanted_of(item)
        return gold_reply([(case, self._golds.of(case, wanted.position, wanted.answer_sheet)) for case in wanted.cases])

    def reference(self, item: Item) -> str:
        wanted = wanted_of(item)
        cells = self._golds.of(wanted.cases[0], wanted.position, wanted.answer_sheet).cells
        return f"Expected cells of the first workbook:\n{listed(cells, _SHOWN_REFERENCE)}"

    def example(self, item: Item) -> Example | None:
        """None: the gold script copies values and shows nothing of the work."""
        return None

    def null_baseline(self, items: Iterable[Item]) -> Baseline:
        """How often the untouched input passes. Opens every workbook: seconds to minutes."""
        return untouched([wanted_of(item) for item in items], self._golds, self._options.comparison)

    def _machine(self) -> tuple[Sandbox, str | None]:
        program = office.found() if self._options.recalculate is not False else None
        if program is None and self._options.recalculate is True:
            raise ConfigError(
                "env.recalculate: LibreOffice is not installed; install it (apt install libreoffice-calc), or set "
                "env.recalculate to auto"
            )
        return self._box(), program

    def _workshop(self) -> Workshop:
        """One for each event loop: its slots and queues belong to the loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._workshops:
            box, program = self._machine()
            made = office.Office(program, box, self._options.recalculate_seconds) if program else None
            slots = asyncio.Semaphore(self._options.scripts_at_once or os.cpu_count() or 1)
            self._workshops[loop] = Workshop(self._options, box, made, self._golds, slots)
        return self._workshops[loop]


def _nothing(cases: int) -> Score:
    reason = "no script: the reply holds no code, or solution.py was not written"
    return Score(0.0, 0.0, {"phase": "extract", "fail_reason": reason, "n_cases": cases, "n_exec_pass": 0, "n_pass": 0})


def _score(verdicts: tuple[Verdict, ...]) -> Score:
    passed = sum(verdict.passed for verdict in verdicts)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    detail: dict[str, JSON] = {
        "phase": _PHASES[failed[0].stage] if failed else "eval",
        "n_cases": len(verdicts),
        "n_exec_pass": sum(verdict.stage == "cells" for verdict in verdicts),
        "n_pass": passed,
    }
    if failed:
        first = failed[0]
        detail["fail_reason"] = f"case {first.number}: {first.reason}"
        detail["cases"] = [{"no": v.number, "ok": v.passed, "reason": v.reason[:300]} for v in verdicts]
        if first.wrong:
            detail["cells"] = f"case {first.number}:\n{first.cells(expected=True)}"
    return Score(float(not failed), passed / len(verdicts), detail)


def _last_block(reply: str) -> str:
    """A script that a target with tools gave in its reply instead of writing it; prose is none."""
    return reply if "```" in reply else ""
