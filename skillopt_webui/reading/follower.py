"""Follows one journal: reads what is new since the last look, and folds it.

Reading happens in short slices on the event loop, so a page asked for meanwhile is drawn from as much as is known; the
view is only ever touched between two slices, which is why nothing here needs a lock.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from skillopt.errors import JournalError
from skillopt.evaluation.report import Lift
from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import decode
from skillopt.journal.events import Event
from skillopt.journal.scan import BLOBS, LOG
from skillopt.journal.view import RunView
from skillopt_webui.reading.ledger import Attempt, Ledger
from skillopt_webui.reading.slim import read_line

SLICE = 0.01
"""Seconds of reading before others get their turn."""
_FAR = 4_000_000


class Follower:
    """A run as far as it was read. `error` says why the rest cannot be."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / LOG
        self.blobs = Blobs(directory / BLOBS)
        self.lift: Lift | None = None
        self.lift_known = False
        self._begin()

    def _begin(self) -> None:
        self.view = RunView()
        self.ledger = Ledger()
        self.offset = 0
        self.size = 0
        self.error = ""
        self._file_id = (0, 0)
        self.lift, self.lift_known = None, False

    @property
    def behind(self) -> bool:
        return self.offset < self.size and not self.error

    @property
    def far_behind(self) -> bool:
        """So much is unread that reading it takes seconds: the first look at a large journal."""
        return self.size - self.offset > _FAR and not self.error

    @property
    def share(self) -> float:
        """How much of the journal has been read, 0 to 1."""
        return min(1.0, self.offset / self.size) if self.size else 1.0

    def look(self) -> bool:
        """Whether there is something new to read. A journal that was replaced is read anew."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        if (found.st_dev, found.st_ino) != self._file_id or found.st_size < self.offset:
            self._begin()
            self._file_id = (found.st_dev, found.st_ino)
        grown = found.st_size > self.size
        self.size = found.st_size
        return grown

    def advance(self, seconds: float = SLICE) -> bool:
        """Read for a moment; true when there is more."""
        if self.error or self.offset >= self.size:
            return False
        until = time.perf_counter() + seconds
        with self.path.open("rb") as file:
            file.seek(self.offset)
            while time.perf_counter() < until:
                line = file.readline()
                if not line.endswith(b"\n"):
                    # A write is under way, or was cut short; either way there is nothing whole to read.
                    self.size = self.offset
                    return False
                if not self._take(line):
                    return False
        return self.offset < self.size

    def _take(self, line: bytes) -> bool:
        try:
            event, task = read_line(line, self.blobs)
            if event.seq != self.view.events + 1:
                raise JournalError(f"event {event.seq} stands where event {self.view.events + 1} belongs")
            self.view.apply(event)
        except JournalError as error:
            self.error = f"{LOG}, line {self.view.events + 1}: {error}"
            return False
        self.ledger.take(self.view, event, self.offset, len(line), task)
        self.offset += len(line)
        return True

    def event_of(self, attempt: Attempt) -> Event:
        """The whole event of an attempt, read where it lies."""
        with self.path.open("rb") as file:
            file.seek(attempt.offset)
            line = file.read(attempt.length)
        return decode(line, self.blobs.get)


def follow_now(directory: Path) -> Follower:
    """A follower that has read everything there is; for tests and scripts."""
    follower = Follower(directory)
    follower.look()
    while follower.advance(60.0):
        pass
    return follower


def stamp(path: Path) -> tuple[int, int]:
    """What changes when a file does."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked of every run on every look, so the shortest way
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)
