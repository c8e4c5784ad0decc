"""The processes behind runs: who works on one, starting the ordinary command, and asking it to stop.

A run started here is a session of its own, so it goes on when the page, or the dashboard, is closed. Its command and
output are kept in `<run>/dashboard/`; credentials travel in the environment only, never in a command or a file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.journal.files import write_atomic
from skillopt.types import JSON

HOME = "dashboard"
LAUNCH = "launch.json"
OUTPUT = "output.log"
_TAIL = 20_000


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that was started from the dashboard. `caps` are the budget settings it was given."""

    pid: int
    started: float
    arguments: tuple[str, ...]
    caps: Mapping[str, JSON]


class Children:
    """The processes started by this dashboard. They outlive it; while it lives it takes leave of those that ended."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def start(
        self, directory: Path, arguments: Sequence[str], environ: Mapping[str, str], caps: Mapping[str, JSON]
    ) -> Launch:
        """Run `skillopt <arguments>` in a process group of its own; its words go to a file in the run directory."""
        home = directory / HOME
        home.mkdir(parents=True, exist_ok=True)
        with (home / OUTPUT).open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "skillopt.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environ) | {"PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        self._running.append(process)
        launch = Launch(process.pid, time.time(), tuple(arguments), dict(caps))
        record = {"pid": launch.pid, "started": launch.started, "arguments": list(arguments), "caps": dict(caps)}
        write_atomic(home / LAUNCH, json.dumps(record, indent=2).encode(), durable=False)
        return launch

    def tidy(self) -> int:
        """Take leave of those that ended, so that none stays behind as a zombie; how many are left."""
        self._running = [process for process in self._running if process.poll() is None]
        return len(self._running)


def launch_of(directory: Path) -> Launch | None:
    """What the dashboard last started here, if it did."""
    try:
        row = json.loads((directory / HOME / LAUNCH).read_bytes())
        words = tuple(map(str, row["arguments"]))
        return Launch(int(row["pid"]), float(row["started"]), words, cast("dict[str, JSON]", row["caps"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def output_of(directory: Path) -> str:
    """The end of what the command said."""
    try:
        with (directory / HOME / OUTPUT).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def worker(directory: Path) -> int | None:
    """The process that works on a run: the holder of its lock, or the one started here that has not taken it yet."""
    pid = _lock_holder(directory)
    if pid is not None:
        return pid
    launch = launch_of(directory)
    return launch.pid if launch is not None and _is_ours(launch) else None


def left_behind(directory: Path) -> bool:
    """Whether a process took the run and vanished without giving it back."""
    return (directory / ".lock.pid").exists() and _lock_holder(directory) is None


def stop(directory: Path, *, at_once: bool = False) -> bool:
    """Ask the run's process to stop; it records that it did. `at_once` ends its whole group, recorded or not."""
    pid = worker(directory)
    if pid is None:
        return False
    launch = launch_of(directory)
    with suppress(ProcessLookupError, PermissionError):
        if at_once and launch is not None and launch.pid == pid:
            os.killpg(pid, signal.SIGTERM)
        else:
            os.kill(pid, signal.SIGTERM if at_once else signal.SIGINT)
        return True
    return False


def _lock_holder(directory: Path) -> int | None:
    try:
        pid = int((directory / ".lock.pid").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return pid if _alive(pid) and _holds(pid, directory / ".lock") else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


def _holds(pid: int, lock: Path) -> bool:
    """A number may have gone to another process since; where the system tells, it must have the lock file open."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        wanted = lock.stat()
        for entry in folder.iterdir():
            with suppress(OSError):
                found = entry.stat()
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    return True
    except OSError:
        return not Path("/proc/self").exists()
    return False


def _is_ours(launch: Launch) -> bool:
    """Whether the process that was started is still there, and still that command."""
    if not _alive(launch.pid):
        return False
    try:
        words = Path(f"/proc/{launch.pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return True
    return launch.arguments[-1].encode() in words
