"""Everything that runs programs for one event loop: a few slots for scripts, LibreOffice beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.agents.sandbox import Sandbox
from skillopt.envs.spreadsheetbench.box import Produced, produced
from skillopt.envs.spreadsheetbench.cases import Case
from skillopt.envs.spreadsheetbench.cells import Unreadable, quietly, read
from skillopt.envs.spreadsheetbench.compare import Verdict, compared
from skillopt.envs.spreadsheetbench.golds import Gold, Golds
from skillopt.envs.spreadsheetbench.office import Office
from skillopt.envs.spreadsheetbench.options import SpreadsheetOptions
from skillopt.envs.spreadsheetbench.values import COMPARISONS
from skillopt.together import together


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a task looks at: its cases and where their answers lie."""

    cases: tuple[Case, ...]
    position: str
    answer_sheet: str


@dataclass(frozen=True, slots=True)
class Workshop:
    """`slots` bound the scripts that run side by side: they need processors, which model calls do not."""

    options: SpreadsheetOptions
    box: Sandbox
    office: Office | None
    golds: Golds
    slots: asyncio.Semaphore

    async def gold(self, wanted: Wanted, case: Case) -> Gold:
        gold = await asyncio.to_thread(self.golds.of, case, wanted.position, wanted.answer_sheet)
        if gold.problem or not gold.cells.formulas:
            return gold
        try:
            if self.office is None:
                raise Unreadable("install libreoffice to compute them")
            content = await asyncio.to_thread(case.answer.read_bytes)
            computed = await self.office.computed(content, gold.areas)
        except Unreadable as error:
            return replace(gold, problem=f"the answer workbook {case.answer.name} has formulas without values: {error}")
        return replace(gold, cells=gold.cells.valued(computed.values))

    async def tried(self, script: str, wanted: Wanted, case: Case, *, computing: bool = True) -> tuple[Produced, Gold]:
        """One run of the script, with formulas in the answer's range computed unless nobody will look at them."""
        gold = await self.gold(wanted, case)
        async with self.slots:
            made = await produced(script, case.input, gold.areas, self.box, self.options.for_scripts)
        if not computing or made.cells is None or not made.cells.formulas or self.office is None:
            return made, gold
        try:
            computed = await self.office.computed(made.output, gold.areas)
        except Unreadable as error:
            return replace(made, cells=None, problem=str(error), stage="output", output=b""), gold
        return replace(made, cells=made.cells.valued(computed.values), output=b""), gold

    async def judged(self, script: str, wanted: Wanted) -> tuple[Verdict, ...]:
        """The script on every case."""
        return await together(self._case(script, wanted, case) for case in wanted.cases)

    async def _case(self, script: str, wanted: Wanted, case: Case) -> Verdict:
        made, gold = await self.tried(script, wanted, case)
        return self.verdict(case, made, gold)

    def verdict(self, case: Case, made: Produced, gold: Gold) -> Verdict:
        if made.cells is None:
            return Verdict(case.number, made.stage, made.problem or "there is no result")
        if gold.problem:
            return Verdict(case.number, "cells", f"{gold.problem} (a fault of the data)")
        return compared(case.number, gold.cells, made.cells, COMPARISONS[self.options.comparison])


@dataclass(frozen=True, slots=True)
class Baseline:
    """How often the input, untouched, already passes: what a result must be read against."""

    tasks: int
    passed_tasks: int
    cases: int
    passed_cases: int

    def __str__(self) -> str:
        return (
            f"the untouched input passes {self.passed_cases} of {self.cases} cases and {self.passed_tasks} of "
            f"{self.tasks} tasks"
        )


def untouched(tasks: Sequence[Wanted], golds: Golds, comparison: str) -> Baseline:
    """Every task with its input as the output."""
    results = [[_untouched(case, wanted, golds, comparison) for case in wanted.cases] for wanted in tasks]
    cases = [passed for rows in results for passed in rows]
    return Baseline(len(results), sum(map(all, results)), len(cases), sum(cases))


def _untouched(case: Case, wanted: Wanted, golds: Golds, comparison: str) -> bool:
    gold = golds.of(case, wanted.position, wanted.answer_sheet)
    if gold.problem:
        return False
    try:
        with quietly():
            cells = read(str(case.input), gold.areas)
    except (Unreadable, ValueError, KeyError, OSError):
        return False
    return compared(case.number, gold.cells, cells, COMPARISONS[comparison]).passed
