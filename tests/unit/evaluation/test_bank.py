from __future__ import annotations

import asyncio
import sqlite3
from multiprocessing import get_context
from pathlib import Path

from skillopt.evaluation.bank import OutcomeBank
from skillopt.types import Failure, Rollout, Score, Turn, Usage


def outcome(hard: float = 1.0, draw: str = "val") -> Rollout:
    turns = (Turn("user", "a?"), Turn("assistant", "b ü"))
    return Rollout("1", "d", "s", draw, "qa", Score(hard, hard, {"k": [1]}), None, "b", turns, Usage(calls=1), 2.5)


async def test_an_outcome_comes_back_as_it_was_and_costs_nothing(tmp_path: Path) -> None:
    bank = OutcomeBank(tmp_path / "x" / "bank.db", {"target": "m"})
    assert await bank.get("k") is None
    await bank.put("k", outcome())
    found = await OutcomeBank(tmp_path / "x" / "bank.db", {"target": "m"}).get("k")
    assert found is not None and (found.score, found.trajectory) == (outcome().score, outcome().trajectory)
    assert (found.usage, found.seconds) == (Usage(), 0.0)


async def test_settings_replicates_and_missing_data_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    bank = OutcomeBank(path, {"temperature": 0.0})
    await bank.put("rollout/s/d/val", outcome(1.0))
    await bank.put("rollout/s/d/val", outcome(0.0))
    await bank.put("rollout/s/e/val", Rollout("2", "e", "s", "val", "qa", None, Failure("timeout", "late")))
    found = await bank.get("rollout/s/d/val")
    assert found and found.score and found.score.hard == 1.0, "of two for one name the first stays"
    assert await bank.get("rollout/s/d/val-again") is None and await bank.get("rollout/s/e/val") is None
    assert await OutcomeBank(path, {"temperature": 1.0}).get("rollout/s/d/val") is None


async def test_a_broken_file_costs_a_warning_and_no_run(tmp_path: Path, caplog) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "bank.db"
    path.write_text("no database at all" * 100)
    bank = OutcomeBank(path, {})
    await bank.put("k", outcome())
    assert await bank.get("k") is None and caplog.text.count("goes on without it") == 1


def _fill(path: Path, first: int) -> None:
    bank = OutcomeBank(path, {})

    async def work() -> None:
        await asyncio.gather(*(bank.put(f"k{n}", outcome()) for n in range(first, first + 20)))

    asyncio.run(work())


def test_several_processes_may_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with get_context("spawn").Pool(2) as pool:
        pool.starmap(_fill, [(path, 0), (path, 10)])
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM outcomes").fetchone() == (30,)
