"""The journal: the only truth of a run. All paid, slow or random work goes through `once`.

Appends that arrive together share one write and one fsync in a worker thread; a batch gathers by itself while the one
before it is on its way to the disk. Only the index of keys stays in memory: a recorded result is read from disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, cast

from skillopt.errors import JournalError
from skillopt.journal.events import AnyBody, Body, Event
from skillopt.journal.files import sync_directory
from skillopt.journal.lock import RunLock
from skillopt.journal.scan import LOG, Place, cut_torn_tail, index, read_events
from skillopt.journal.tape import Append, Tape
from skillopt.journal.tape import CommitHook as CommitHook

BodyT = TypeVar("BodyT", bound=Body)
_log = logging.getLogger(__name__)

Listener = Callable[[Event], None]


class Journal:
    """The writer of one run directory. `repaired` is the number of torn bytes that opening moved aside."""

    def __init__(self, directory: Path, lock: RunLock, tape: Tape, places: dict[str, Place], repaired: int) -> None:
        self.directory = directory
        self.repaired = repaired
        self._lock = lock
        self._tape = tape
        self._places = places
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._queue: list[Append] = []
        self._busy = False
        self._writing: dict[str, Append] = {}
        self._running: dict[str, asyncio.Future[Body] | None] = {}
        """Work under way; the future is there once somebody else waits for it."""
        self._listeners: list[Listener] = []
        self._dead: BaseException | None = None

    @classmethod
    def open(cls, directory: Path, *, on_commit: CommitHook | None = None) -> Journal:
        """Take the run for writing: lock it, check every line, and cut a torn tail."""
        directory.mkdir(parents=True, exist_ok=True)
        lock = RunLock(directory)
        lock.acquire()
        try:
            path = directory / LOG
            if not path.exists():
                path.touch()
                sync_directory(directory)
            places, end = index(path)
            repaired = cut_torn_tail(directory, end)
            return cls(directory, lock, Tape(directory, len(places), end, on_commit), places, repaired)
        except BaseException:
            lock.release()
            raise

    @staticmethod
    def read(directory: Path) -> Iterator[Event]:
        """All events of a run, without a lock; a torn last line is left out."""
        return read_events(directory)

    def replay(self) -> Iterator[Event]:
        """All events so far, from disk."""
        return read_events(self.directory)

    def has(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        """How many events are durable."""
        return len(self._places)

    def recorded(self, key: str) -> AnyBody | None:
        """The recorded result of a key, read back from the log."""
        place = self._places.get(key)
        return None if place is None else self._tape.read(place).body

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear of every event once it is durable, in file order, on the event loop; returns how to leave.

        A listener's error is raised to whoever appended the event: the event stays recorded, and the run stops.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def once(self, key: str, effect: Callable[[], Awaitable[BodyT]]) -> BodyT:
        """Return the recorded result for key, or run the effect, record it, and return it.

        Callers of the same key share one running effect: it runs in the first caller's task, the others wait. If it
        fails they all get the error, nothing is recorded, and a later call tries again. If the first caller is
        cancelled, the next one runs the effect itself.
        """
        while key in self._running:
            running = self._running[key] = self._running[key] or asyncio.get_running_loop().create_future()
            await asyncio.wait({running})
            if not running.cancelled():
                return running.result()  # type: ignore[return-value]  # a key always names one kind of result
        if key in self._places:
            return self.recorded(key)  # type: ignore[return-value]
        return await self._run(key, effect)

    async def append(self, key: str, body: BodyT) -> BodyT:
        """Record an event; when this returns, it is durable. The body comes back as a reader will see it."""
        self._check_alive()
        if key in self._places or key in self._writing:
            raise JournalError(f"The key {key!r} is already recorded in {self.directory}: each result is named once.")
        loop = asyncio.get_running_loop()
        append = self._writing[key] = Append(key, time.time(), cast(AnyBody, body), loop.create_future())
        self._queue.append(append)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._flush, loop)
        return (await append.written).body  # type: ignore[return-value]

    async def close(self) -> None:
        """Flush what is waiting and unlock. Closing twice is harmless."""
        while self._writing:
            await asyncio.wait({append.joined() for append in self._writing.values()})
        if not self._tape.closed:
            self._worker.shutdown()
            self._tape.close()
            self._lock.release()
        self._dead = self._dead or JournalError(f"The journal of {self.directory} is closed.")

    async def __aenter__(self) -> Journal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, key: str, effect: Callable[[], Awaitable[BodyT]]) -> BodyT:
        self._check_alive()
        self._running[key] = None
        try:
            if (writing := self._writing.get(key)) is not None:
                body = (await asyncio.shield(writing.joined())).body
            else:
                body = await self.append(key, await effect())
        except asyncio.CancelledError:
            if waited := self._running.pop(key):
                waited.cancel()
            raise
        except BaseException as error:
            if waited := self._running.pop(key):
                waited.set_exception(error)
                # Retrieved here: whoever waited may have been cancelled meanwhile.
                waited.exception()
            raise
        if waited := self._running.pop(key):
            waited.set_result(body)
        return body  # type: ignore[return-value]

    def _check_alive(self) -> None:
        if self._dead is not None:
            raise self._dead

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._queue = self._queue, []
        written = loop.run_in_executor(self._worker, self._tape.write, batch)
        written.add_done_callback(lambda done: self._committed(loop, batch, done.exception()))

    def _committed(self, loop: asyncio.AbstractEventLoop, batch: list[Append], error: BaseException | None) -> None:
        """Back on the loop: index the batch, tell the listeners, then let the appenders go on."""
        if error is not None:
            self._die(batch, error)
            return
        for append in batch:
            if append.place is not None:
                self._places[append.key] = append.place
        for append in batch:
            del self._writing[append.key]
            self._resolve(append)
        if self._queue:
            self._flush(loop)
        else:
            self._busy = False

    def _resolve(self, append: Append) -> None:
        outcome = append.outcome
        try:
            if isinstance(outcome, Event):
                for listener in tuple(self._listeners):
                    listener(outcome)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever appended, not to the event loop
            outcome = error
        if append.written.cancelled():
            if isinstance(outcome, Exception):
                _log.error("after the event %r, whose caller was cancelled: %s", append.key, outcome)
            return
        if isinstance(outcome, Event):
            append.written.set_result(outcome)
        else:
            append.written.set_exception(outcome or JournalError(f"The event {append.key!r} was not written."))

    def _die(self, batch: list[Append], error: BaseException) -> None:
        """A write failed: nobody can know how much reached the disk, so nothing more is written by this process."""
        if isinstance(error, OSError):
            reason = f"The journal of {self.directory} cannot be written: {error.strerror or error}."
            error = JournalError(f"{reason} Free the disk or fix its rights, then start the run again to continue.")
        self._dead, self._busy = error, False
        for append in (*batch, *self._queue):
            if not append.written.cancelled():
                append.written.set_exception(error)
        self._writing.clear()
        self._queue = []
