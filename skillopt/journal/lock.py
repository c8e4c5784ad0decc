"""One writer a run. The lock is the operating system's, so it ends with the process, however that ends."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from skillopt.errors import JournalError


class RunLock:
    """`<run>/.lock`. The holder's process id stands in `.lock.pid`, since taking a lock file may empty it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._holder = directory / ".lock.pid"
        self._lock = FileLock(directory / ".lock", timeout=0, thread_local=False)

    def __enter__(self) -> RunLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self) -> None:
        """Take the lock or say at once who has it."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise JournalError(
                f"The run {self._directory} is in use by {self._named_holder()}. Wait for it to end or stop it; to look"
                " at the run meanwhile, use a command that only reads."
            ) from None
        self._holder.write_text(f"{os.getpid()}\n", encoding="utf-8")

    def release(self) -> None:
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()

    def _named_holder(self) -> str:
        try:
            return f"process {int(self._holder.read_text(encoding='utf-8'))}"
        except (OSError, ValueError):
            return "another process"
