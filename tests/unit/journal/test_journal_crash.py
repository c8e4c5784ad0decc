from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skillopt.journal.events import RunStopped
from skillopt.journal.log import Journal
from skillopt.testing.crash import Crash, CrashAt, every_event


async def program(journal: Journal, paid: list[str]) -> list[str]:
    """Three rounds of three effects side by side and one that joins them."""

    async def work(key: str, text: str) -> str:
        async def effect() -> RunStopped:
            paid.append(key)
            return RunStopped(reason=text)

        return (await journal.once(key, effect)).reason

    rounds: list[str] = []
    for r in range(3):
        parts = await asyncio.gather(*(work(f"{r}/{i}", f"{r}{i}") for i in range(3)))
        rounds.append(await work(f"{r}/join", "+".join(parts)))
    return rounds


@pytest.mark.parametrize("crash", list(every_event(12)), ids=str)
async def test_a_run_crashed_anywhere_ends_as_if_it_had_not(tmp_path: Path, crash: Crash) -> None:
    paid: list[str] = []
    with pytest.raises(CrashAt):
        async with Journal.open(tmp_path, on_commit=crash) as journal:
            await program(journal, paid)
    durable = [event.key for event in Journal.read(tmp_path)]
    assert len(durable) == (crash.seq if crash.moment == "after" else crash.seq - 1)
    before = list(paid)
    async with Journal.open(tmp_path) as journal:
        assert await program(journal, paid) == ["00+01+02", "10+11+12", "20+21+22"]
    assert not set(paid[len(before) :]) & set(durable)
    assert [event.seq for event in Journal.read(tmp_path)] == list(range(1, 13))


async def test_before_means_done_but_not_recorded(tmp_path: Path) -> None:
    paid: list[str] = []
    with pytest.raises(CrashAt):
        async with Journal.open(tmp_path, on_commit=Crash(1, "before")) as journal:
            await program(journal, paid)
    assert paid and not list(Journal.read(tmp_path))
