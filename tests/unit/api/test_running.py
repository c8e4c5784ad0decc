"""A coroutine from plain code, wherever that stands."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from skillopt.running import run_anywhere


async def answer() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_in_a_script_it_runs_right_here() -> None:
    assert run_anywhere(answer) == threading.main_thread().name


async def test_inside_a_loop_it_runs_in_a_thread_of_its_own() -> None:
    assert run_anywhere(answer) == "skillopt-run"


async def test_its_errors_come_back() -> None:
    async def broken() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run_anywhere(broken)


def test_an_interrupt_in_a_notebook_cancels_the_work_and_waits_for_its_end() -> None:
    ended: list[str] = []

    async def long() -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("cleanly")

    async def cell() -> None:
        run_anywhere(long)

    # A loop of our own, as a kernel has one: `asyncio.run` would take the signal for itself.
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        loop.close()
    assert ended == ["cleanly"]
