"""SpreadsheetBench from end to end: three modes on real samples and on our own, and a run that learns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from skillopt.agents.chat import ChatAgent
from skillopt.envs.base import DataSource
from skillopt.envs.spreadsheetbench.adapter import SpreadsheetBench
from skillopt.envs.spreadsheetbench.compare import compared
from skillopt.envs.spreadsheetbench.golds import Golds
from skillopt.envs.spreadsheetbench.rows import wanted_of
from skillopt.envs.spreadsheetbench.script import as_reply, script_in
from skillopt.envs.spreadsheetbench.values import mended
from skillopt.testing.mini_spreadsheet import script_for, write_spreadsheets
from skillopt.testing.pupil import LESSONS, Pupil, Question
from skillopt.testing.server import LoopbackServer
from skillopt.testing.spreadsheet_model import ScriptWriter
from skillopt.testing.trial import Trial
from skillopt.types import JSON, Item, Score

CONFIG = Path(__file__).parents[2] / "configs" / "spreadsheetbench" / "default.yaml"
FEW = ("184-45", "60-7", "50066", "CF_8276")
"""Odd positions, a list of sheets, a name with a space, and formulas whose result is empty."""
MODES = ("single", "multi", "react")


def benchmark_of(root: Path, **options: JSON) -> SpreadsheetBench:
    found = SpreadsheetBench.configured({"data_root": str(root), **options})
    assert isinstance(found, SpreadsheetBench)
    return found


def real(shared_data: Path, benchmark: SpreadsheetBench) -> list[Item]:
    rows = json.loads((shared_data / "spreadsheetbench" / "dataset_50.json").read_text(encoding="utf-8"))
    return [benchmark.item(row, "test") for row in rows]


def attempted(benchmark: SpreadsheetBench, items: Sequence[Item], scripts: dict[str, str]) -> list[Score]:
    """Every item once, side by side, by a target that has the scripts by heart."""
    model = ScriptWriter(lambda asked: next(script for mark, script in scripts.items() if mark in asked))

    async def one(item: Item) -> Score:
        attempt = await benchmark.attempt(item, "", ChatAgent(model))
        return (await benchmark.judged(item, attempt, None)).score

    async def every() -> list[Score]:
        return list(await asyncio.gather(*map(one, items)))

    return asyncio.run(every())


@pytest.mark.parametrize("mode", MODES)
def test_right_scripts_score_one_in_every_mode_on_real_samples(mode: str, shared_data: Path) -> None:
    benchmark = benchmark_of(shared_data / "spreadsheetbench", mode=mode)
    items = [item for item in real(shared_data, benchmark) if item.id in FEW]
    scripts = {str(item.data["instruction"]): script_in(benchmark.gold(item)) for item in items}
    assert [score.hard for score in attempted(benchmark, items, scripts)] == [1.0] * len(FEW)


@pytest.mark.parametrize("mode", MODES)
def test_scripts_that_compute_score_one_and_mistakes_do_not(mode: str, tmp_path: Path) -> None:
    split, root = write_spreadsheets(tmp_path, (2, 1, 1), cases=1)
    benchmark = benchmark_of(root, mode=mode)
    right, wrong = benchmark.load(DataSource("split_dir", str(split))).train
    requests = [str(item.data["instruction"]) for item in (right, wrong)]
    scripts = {requests[0]: script_for(requests[0]), requests[1]: script_for(requests[1], right=False)}
    assert [score.hard for score in attempted(benchmark, [right, wrong], scripts)] == [1.0, 0.0]


def test_every_real_answer_passes_against_itself(shared_data: Path) -> None:
    """Compared as workbooks, without scripts. Answers with formulas that nobody computed wait for LibreOffice."""
    benchmark, golds = benchmark_of(shared_data / "spreadsheetbench"), Golds()
    unvalued: set[str] = set()
    for item in real(shared_data, benchmark):
        wanted = wanted_of(item)
        for case in wanted.cases:
            gold = golds.of(case, wanted.position, wanted.answer_sheet)
            assert not gold.problem
            if gold.cells.formulas:
                unvalued.add(item.id)
            else:
                assert compared(case.number, gold.cells, gold.cells, mended).passed
    assert unvalued == {"208-20"}


def test_the_real_inputs_pass_now_and_then(shared_data: Path) -> None:
    benchmark = benchmark_of(shared_data / "spreadsheetbench")
    base = benchmark.null_baseline(real(shared_data, benchmark))
    assert (base.cases, base.passed_cases, base.tasks, base.passed_tasks) == (150, 12, 50, 3)


def test_a_run_learns(tmp_path: Path) -> None:
    split, root = write_spreadsheets(tmp_path / "data", (4, 2, 2), cases=1)
    benchmark = benchmark_of(root)
    splits = benchmark.load(DataSource("split_dir", str(split)))
    items = (*splits.train, *splits.val, *splits.test)
    questions = [
        Question(
            mark := str(item.data["instruction"]),
            right=as_reply(script_for(mark)),
            wrong=as_reply(script_for(mark, right=False)),
            lesson=LESSONS[number % 2],
        )
        for number, item in enumerate(items)
    ]
    settings: dict[str, JSON] = {
        "train.num_epochs": 2, "train.batch_size": 4, "optimizer.use_slow_update": False,
        "optimizer.use_meta_skill": False, "env.split_dir": str(split), "env.data_root": str(root),
    }  # fmt: skip
    with LoopbackServer.in_thread(Pupil(questions)) as server:
        Trial(tmp_path, server.url, CONFIG, settings).train()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["baseline_test_hard"] == 0.0
    assert summary["best_selection_hard"] == 1.0 and summary["test_hard"] == 1.0
