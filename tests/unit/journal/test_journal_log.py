from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.errors import JournalError
from skillopt.journal.events import Event, RolloutDone, RunStopped
from skillopt.journal.log import Journal
from skillopt.types import Rollout, Score


def said(text: str) -> RunStopped:
    return RunStopped(reason=text)


async def write(directory: Path, *texts: str) -> bytes:
    async with Journal.open(directory) as journal:
        for text in texts:
            await journal.append(text, said(text))
    return (directory / "events.jsonl").read_bytes()


def keys(directory: Path) -> list[str]:
    return [event.key for event in Journal.read(directory)]


async def test_events_are_numbered_and_read_back(tmp_path: Path) -> None:
    await write(tmp_path, "a", "b")
    await write(tmp_path, "c")
    assert [(e.seq, e.key) for e in Journal.read(tmp_path)] == [(1, "a"), (2, "b"), (3, "c")]
    async with Journal.open(tmp_path) as journal:
        assert journal.has("b") and journal.recorded("b") == said("b")
        assert journal.recorded("z") is None
        assert [e.key for e in journal.replay()] == ["a", "b", "c"]


async def test_a_tail_torn_at_any_byte_is_moved_aside(tmp_path: Path) -> None:
    whole = await write(tmp_path, "a", "bé")
    last = whole[:-1].rindex(b"\n") + 1
    log, torn = tmp_path / "events.jsonl", tmp_path / "events.jsonl.torn"
    for cut in range(last, len(whole)):
        log.write_bytes(whole[:cut])
        torn.unlink(missing_ok=True)
        assert keys(tmp_path) == ["a"]
        async with Journal.open(tmp_path) as journal:
            assert journal.repaired == cut - last
            assert not journal.has("bé")
            await journal.append("bé", said("again"))
        assert keys(tmp_path) == ["a", "bé"]
        assert (torn.read_bytes() if cut > last else b"") == whole[last:cut]


async def test_torn_bytes_gather_in_their_file(tmp_path: Path) -> None:
    await write(tmp_path, "a")
    for piece in (b'{"v"', b"\0\0\0"):
        with (tmp_path / "events.jsonl").open("ab") as log:
            log.write(piece)
        await write(tmp_path)
    assert (tmp_path / "events.jsonl.torn").read_bytes() == b'{"v"\0\0\0'


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [lines[0], b"broken\n", lines[2]], "line 2: this is not a journal event"),
        (lambda lines: [lines[0], lines[2]], "line 2: event 3 stands where event 2"),
        (lambda lines: [lines[0], lines[0]], "line 2: event 1 stands"),
        (lambda lines: [lines[0], lines[0].replace(b'"seq":1', b'"seq":2')], "line 2: the key 'a' is recorded twice"),
        (lambda lines: [lines[0], b"[]\n"], "line 2: this is not"),
    ],
)
async def test_damage_that_no_crash_explains_is_reported(tmp_path: Path, damage: object, message: str) -> None:
    lines = (await write(tmp_path, "a", "b", "c")).splitlines(keepends=True)
    (tmp_path / "events.jsonl").write_bytes(b"".join(damage(lines)))  # type: ignore[operator]
    with pytest.raises(JournalError, match=message):
        Journal.open(tmp_path)
    (tmp_path / "events.jsonl").write_bytes(b"".join(lines))
    assert await write(tmp_path)


def test_reading_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no run in"):
        keys(tmp_path)


async def test_one_writer_many_readers(tmp_path: Path) -> None:
    async with Journal.open(tmp_path) as journal:
        await journal.append("a", said("a"))
        with pytest.raises(JournalError, match=f"process {os.getpid()}"):
            Journal.open(tmp_path)
        assert keys(tmp_path) == ["a"]
    await Journal.open(tmp_path).close()


def test_the_lock_names_another_process_and_ends_with_it(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom skillopt.journal.lock import RunLock\n"
        "lock = RunLock(pathlib.Path(sys.argv[1])); lock.acquire()\nprint('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout and child.stdout.readline() == "held\n"
        with pytest.raises(JournalError, match=f"process {child.pid}"):
            Journal.open(tmp_path)
        child.kill()
    asyncio.run(Journal.open(tmp_path).close())


async def test_appends_that_arrive_together_share_an_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs: list[int] = []
    real = os.fsync
    async with Journal.open(tmp_path) as journal:
        monkeypatch.setattr(os, "fsync", lambda fd: (syncs.append(fd), real(fd))[1])
        await asyncio.gather(*(journal.append(f"k{i}", said("x")) for i in range(200)))
    assert 1 <= len(syncs) <= 5
    assert [e.seq for e in Journal.read(tmp_path)] == list(range(1, 201))


async def test_an_event_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    async with Journal.open(tmp_path) as journal:
        for i in range(3):
            await journal.append(f"k{i}", said("x"))
            assert keys(tmp_path)[-1] == f"k{i}"


async def test_once_runs_an_effect_once(tmp_path: Path) -> None:
    runs: list[int] = []

    async def effect() -> RunStopped:
        runs.append(1)
        await asyncio.sleep(0.01)
        return said("paid")

    async with Journal.open(tmp_path) as journal:
        bodies = await asyncio.gather(*(journal.once("k", effect) for _ in range(10)))
        assert set(bodies) == {said("paid")}
    async with Journal.open(tmp_path) as journal:
        assert await journal.once("k", effect) == said("paid")
    assert len(runs) == 1


async def test_a_failed_effect_reaches_all_waiters_and_may_be_tried_again(tmp_path: Path) -> None:
    async def broken() -> RunStopped:
        await asyncio.sleep(0)
        raise ValueError("no answer")

    async def sound() -> RunStopped:
        return said("ok")

    async with Journal.open(tmp_path) as journal:
        results = await asyncio.gather(*(journal.once("k", broken) for _ in range(3)), return_exceptions=True)
        assert [str(r) for r in results] == ["no answer"] * 3
        assert not journal.has("k")
        assert await journal.once("k", sound) == said("ok")


class Slow:
    """An effect that waits to be let go and notes its cancellation."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.runs = 0
        self.cancelled = False

    async def __call__(self) -> RunStopped:
        self.runs += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return said("slow")


async def test_a_cancelled_waiter_leaves_the_effect_alone(tmp_path: Path) -> None:
    slow = Slow()
    async with Journal.open(tmp_path) as journal:
        first, second = (asyncio.ensure_future(journal.once("k", slow)) for _ in range(2))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0.01)
        assert second.cancelled() and not slow.cancelled
        slow.go.set()
        assert await first == said("slow")
    assert slow.runs == 1


async def test_when_the_first_caller_is_cancelled_the_next_one_takes_over(tmp_path: Path) -> None:
    slow = Slow()
    async with Journal.open(tmp_path) as journal:
        first, second = (asyncio.ensure_future(journal.once("k", slow)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        assert first.cancelled() and not second.done()
        slow.go.set()
        assert await second == said("slow")
    assert slow.runs == 2


async def test_the_last_waiter_takes_the_effect_along(tmp_path: Path) -> None:
    slow = Slow()
    async with Journal.open(tmp_path) as journal:
        only = asyncio.ensure_future(journal.once("k", slow))
        await asyncio.sleep(0.01)
        only.cancel()
        with pytest.raises(asyncio.CancelledError):
            await only
        assert slow.cancelled and not journal.has("k")
        slow.go.set()
        assert await journal.once("k", slow) == said("slow")


async def test_a_newcomer_does_not_share_the_end_of_a_cancelled_flight(tmp_path: Path) -> None:
    slow = Slow()
    async with Journal.open(tmp_path) as journal:
        first = asyncio.ensure_future(journal.once("k", slow))
        await asyncio.sleep(0.01)
        first.cancel()
        newcomer = asyncio.ensure_future(journal.once("k", slow))
        slow.go.set()
        assert await newcomer == said("slow")


async def test_a_flight_cancelled_before_its_first_step_leaves_nothing_behind(tmp_path: Path) -> None:
    slow = Slow()
    slow.go.set()
    async with Journal.open(tmp_path) as journal:
        task = asyncio.ensure_future(journal.once("k", slow))
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.wait_for(journal.once("k", slow), 1) == said("slow")


async def test_cancelling_during_the_write_neither_tears_nor_repeats(tmp_path: Path) -> None:
    ran: list[int] = []

    async def effect() -> RunStopped:
        ran.append(1)
        return said("x" * 10_000)

    async with Journal.open(tmp_path) as journal:
        for i in range(20):
            task = asyncio.ensure_future(journal.once(f"k{i}", effect))
            for _ in range(i % 5):
                await asyncio.sleep(0)
            task.cancel()
            again = await journal.once(f"k{i}", effect)
            assert again == said("x" * 10_000)
    assert keys(tmp_path) == [f"k{i}" for i in range(20)]


async def test_close_waits_for_appends_whose_callers_are_gone(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path)
    task = asyncio.ensure_future(journal.append("k", said("x")))
    await asyncio.sleep(0)
    task.cancel()
    await journal.close()
    await journal.close()
    assert keys(tmp_path) == ["k"]
    with pytest.raises(JournalError, match="closed"):
        await journal.append("l", said("x"))


async def test_a_key_names_one_result(tmp_path: Path) -> None:
    async with Journal.open(tmp_path) as journal:
        first = asyncio.ensure_future(journal.append("k", said("1")))
        await asyncio.sleep(0)
        with pytest.raises(JournalError, match="already recorded"):
            await journal.append("k", said("2"))
        await first
        with pytest.raises(JournalError, match="already recorded"):
            await journal.append("k", said("2"))


async def test_listeners_hear_durable_events_in_file_order(tmp_path: Path) -> None:
    heard: list[Event] = []
    async with Journal.open(tmp_path) as journal:
        leave = journal.subscribe(lambda event: heard.append(event) if journal.has(event.key) else None)
        await asyncio.gather(*(journal.append(f"k{i}", said("x")) for i in range(50)))
        leave()
        await journal.append("unheard", said("x"))
    assert heard == list(Journal.read(tmp_path))[:-1]


async def test_a_listeners_error_reaches_the_appender_and_the_event_stays(tmp_path: Path) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("display")

    async with Journal.open(tmp_path) as journal:
        leave = journal.subscribe(broken)
        with pytest.raises(RuntimeError, match="display"):
            await journal.append("a", said("a"))
        leave()
        await journal.append("b", said("b"))
    assert keys(tmp_path) == ["a", "b"]


async def test_a_failing_disk_stops_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    async with Journal.open(tmp_path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(JournalError, match="No space left"):
                await journal.append("a", said("a"))
        with pytest.raises(JournalError, match="No space left"):
            await journal.once("b", Slow())
    assert await write(tmp_path, "c")


def rolled(answer: str, detail: dict[str, object]) -> RolloutDone:
    score = Score(1.0, 1.0, detail)
    return RolloutDone(at="a", stage="val", rollout=Rollout("i", "d", "s", "v", "k", score, None, answer))


async def test_an_event_that_cannot_be_recorded_is_refused_alone(tmp_path: Path) -> None:
    async with Journal.open(tmp_path) as journal:
        good, bad = await asyncio.gather(
            journal.append("good", said("x")),
            journal.append("bad", rolled("x", {"o": object()})),
            return_exceptions=True,
        )
        assert good == said("x") and isinstance(bad, JournalError)
        await journal.append("bad", said("now fine"))
    assert keys(tmp_path) == ["good", "bad"]


async def test_half_an_emoji_is_replaced_and_the_caller_sees_what_a_resumed_run_will(tmp_path: Path) -> None:
    async with Journal.open(tmp_path) as journal:
        first = await journal.append("k", rolled("half \ud83d", {}))
        assert first.rollout.answer == "half \ufffd"
        assert journal.recorded("k") == first


async def test_a_reader_sees_whole_lines_only(tmp_path: Path) -> None:
    whole = await write(tmp_path, "a", "b")
    (tmp_path / "events.jsonl").write_bytes(whole[:-5])
    assert keys(tmp_path) == ["a"]
    assert json.loads(whole.splitlines()[0])["key"] == "a"
