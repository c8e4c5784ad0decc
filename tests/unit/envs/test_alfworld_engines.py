"""Engine processes: reused, replaced when lost, never more than games under way, never left over."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillopt.envs.alfworld.pool import Limits, Pool
from skillopt.errors import ModelError

pytest.importorskip("textworld")

GAME = Path(__file__).parents[2] / "contract" / "game.tw-pddl"


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def lit(pool: Pool) -> bool:
    async with pool.play(GAME) as game:
        await game.start()
        await game.step("press lamp 1")
        return (await game.step("press lamp 2")).won


async def test_one_process_serves_game_after_game_until_it_has_served_enough() -> None:
    pool = Pool(Limits(games=3))
    seen: list[frozenset[int]] = []
    for _ in range(4):
        seen.append(pool.pids)
        assert await lit(pool)
    first, second = seen[1], pool.pids
    assert seen == [frozenset(), first, first, frozenset()] and len(first) == len(second) == 1 and first != second
    await pool.close()
    assert pool.pids == frozenset() and not any(alive(pid) for pid in (*first, *second))


async def test_the_player_sees_feedback_commands_and_nothing_else() -> None:
    pool = Pool(Limits())
    async with pool.play(GAME) as game:
        scene = await game.start()
        assert scene.text == "You stand in a dark hall.\n\nYour task is to: light both lamps."
        assert scene.commands == ("help", "press lamp 1", "press lamp 2", "wait") and not scene.won
        assert (await game.step("sing")).text == "Nothing happens."
    await pool.close()


@pytest.mark.parametrize("accident", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_game_goes_on_in_a_new_process_when_its_own_is_lost(accident: signal.Signals) -> None:
    patient = Limits(timeout=120.0)
    pool = Pool(patient)
    async with pool.play(GAME) as game:
        await game.start()
        await game.step("press lamp 1")
        (first,) = pool.pids
        os.kill(first, accident)
        if accident == signal.SIGSTOP:
            # Impatient with the lost process alone: the next one has to start first.
            pool.limits = Limits(timeout=0.5)
            asyncio.get_running_loop().call_later(0.2, setattr, pool, "limits", patient)
        assert (await game.step("wait")).text == "Time passes."
        assert (await game.step("press lamp 2")).won
        assert first not in pool.pids and not alive(first)
    await pool.close()


async def test_a_game_that_loses_two_processes_is_missing_data(tmp_path: Path) -> None:
    broken = tmp_path / "game.tw-pddl"
    broken.write_text("{}")
    pool = Pool(Limits())
    with pytest.raises(ModelError, match="failed twice") as caught:
        async with pool.play(broken) as game:
            await game.start()
    assert caught.value.kind == "engine" and pool.pids == frozenset()
    await pool.close()


async def test_a_cancelled_command_takes_its_process_along() -> None:
    pool = Pool(Limits())
    assert await lit(pool)
    (pid,) = pool.pids
    os.kill(pid, signal.SIGSTOP)
    task = asyncio.ensure_future(lit(pool))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pool.pids == frozenset() and not alive(pid)
    await pool.close()


def test_the_end_of_the_loop_ends_the_processes() -> None:
    async def play() -> frozenset[int]:
        pool = Pool(Limits())
        await lit(pool)
        return pool.pids

    assert not any(alive(pid) for pid in asyncio.run(play()))


def test_no_process_outlives_a_run_that_was_killed() -> None:
    script = (
        "import asyncio, os, signal\nfrom pathlib import Path\nfrom skillopt.envs.alfworld.pool import Limits, Pool\n"
        "async def main():\n"
        "    pool = Pool(Limits())\n"
        f"    async with pool.play(Path({str(GAME)!r})) as game:\n"
        "        await game.start()\n"
        "        print(*pool.pids, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    (pid,) = map(int, done.stdout.split())
    for _ in range(50):
        if not alive(pid):
            return
        time.sleep(0.1)
    raise AssertionError(f"the engine {pid} outlived its run")
