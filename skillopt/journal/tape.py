"""The writing end of `events.jsonl`: a batch of events becomes one write and one fsync, texts before lines.

Only one thread writes. An event that cannot be encoded is refused alone; a write that fails leaves the rest to the next
opening of the run, which finds whole lines and at most one torn one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from skillopt.errors import JournalError
from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import decode, encode, storable
from skillopt.journal.events import AnyBody, Event
from skillopt.journal.scan import BLOBS, LOG, Place


class CommitHook(Protocol):
    """Called around each line with its number; what it raises kills the journal there, as a crash would."""

    def __call__(self, seq: int, moment: Literal["before", "after"]) -> None: ...


@dataclass(slots=True)
class Append:
    """An event on its way to the disk. `outcome` and `place` are what the tape made of it."""

    key: str
    ts: float
    body: AnyBody
    written: asyncio.Future[Event]
    """The appender's own: cancelling the appender cancels this and nothing else."""
    outcome: Event | JournalError | None = None
    place: Place | None = None

    def joined(self) -> asyncio.Future[Event]:
        """What somebody else can wait for, also when the appender has been cancelled."""
        if self.written.cancelled():
            self.written = asyncio.get_running_loop().create_future()
        return self.written


class Tape:
    """The open file. `seq` counts the events on it and `end` its bytes."""

    def __init__(self, directory: Path, seq: int, end: int, hook: CommitHook | None) -> None:
        self._directory = directory
        self._file = os.open(directory / LOG, os.O_RDWR | os.O_APPEND)
        self._blobs = Blobs(directory / BLOBS)
        self._seq = seq
        self._end = end
        self._hook = hook

    @property
    def closed(self) -> bool:
        return self._file < 0

    def read(self, place: Place) -> Event:
        if self.closed:
            raise JournalError(f"The journal of {self._directory} is closed.")
        return decode(os.pread(self._file, place.length, place.offset), self._blobs.get)

    def write(self, batch: Sequence[Append]) -> None:
        """One write and one fsync for the whole batch."""
        lines: list[bytes] = []
        end = self._end
        try:
            for append in batch:
                seq = self._seq + len(lines) + 1
                self._around(seq, "before")
                if line := self._line(append, seq):
                    append.place = Place(end, len(line))
                    end += len(line)
                    lines.append(line)
                    self._around(seq, "after")
        finally:
            if lines:
                self._blobs.sync()
                _write_all(self._file, b"".join(lines))
                os.fsync(self._file)
                self._seq, self._end = self._seq + len(lines), end

    def close(self) -> None:
        if not self.closed:
            os.close(self._file)
            self._file = -1

    def _around(self, seq: int, moment: Literal["before", "after"]) -> None:
        if self._hook is not None:
            self._hook(seq, moment)

    def _line(self, append: Append, seq: int) -> bytes:
        """The event's line, or nothing when this one event cannot be recorded."""
        event = Event(seq=seq, ts=append.ts, key=append.key, body=append.body)
        try:
            line, append.outcome = _encoded(event, self._blobs)
        except JournalError as error:
            append.outcome = error
            return b""
        return line


def _encoded(event: Event, blobs: Blobs) -> tuple[bytes, Event]:
    try:
        return encode(event, blobs.put), event
    except JournalError:
        clean = storable(event)
        if clean == event:
            raise
        return encode(clean, blobs.put), clean


def _write_all(file: int, data: bytes) -> None:
    """One write, unless the system takes only part of it."""
    while data:
        data = data[os.write(file, data) :]
