"""Every run below the runs directory, under a name that can stand in an address.

A request names a run by this name only; it is looked up here and never joined to a path.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from skillopt.journal.scan import LOG
from skillopt.types import digest
from skillopt_webui import processes
from skillopt_webui.reading.follower import Follower, stamp
from skillopt_webui.reading.summary import Summary

_DEEPEST = 6
_FRESH = 1.0
"""Seconds for which a look at the directory is good enough."""


@dataclass(slots=True)
class Entry:
    """A run and what is known of it. The follower may be let go; the summary stays."""

    id: str
    name: str
    directory: Path
    follower: Follower | None = None
    summary: Summary | None = None
    summed: tuple[int, int] = (0, 0)
    used: float = 0.0
    asked: float = 0.0
    """When a page of it was last asked for; reading gives way for a moment."""

    @property
    def stamp(self) -> tuple[int, int]:
        return stamp(self.directory / LOG)

    @property
    def outdated(self) -> bool:
        return self.summary is None or self.summed != self.stamp


class Catalogue:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._entries: dict[str, Entry] = {}
        self._looked = -_FRESH

    def entries(self) -> tuple[Entry, ...]:
        """All runs, the one that moved last first."""
        self._look()
        return tuple(sorted(self._entries.values(), key=lambda e: (e.stamp[1], e.name), reverse=True))

    def get(self, run_id: str) -> Entry | None:
        if run_id not in self._entries:
            self._look(again=True)
        return self._entries.get(run_id)

    def at(self, directory: Path) -> Entry | None:
        self._look(again=True)
        return next((e for e in self._entries.values() if e.directory == directory), None)

    def _look(self, *, again: bool = False) -> None:
        now = time.monotonic()
        if not again and now - self._looked < _FRESH:
            return
        self._looked = now
        known = {entry.directory: entry for entry in self._entries.values()}
        found = [known.get(d) or Entry("", self._name(d), d) for d in _run_directories(self.root, 0)]
        self._entries = {}
        for entry in sorted(found, key=lambda e: e.name):
            entry.id = entry.id or self._free_id(entry.name)
            self._entries[entry.id] = entry

    def _name(self, directory: Path) -> str:
        relative = directory.relative_to(self.root).as_posix()
        return directory.name if relative == "." else relative

    def _free_id(self, name: str) -> str:
        plain = "".join(c if c.isalnum() or c in "-_." else "~" for c in name).strip(".") or "run"
        return plain if plain not in self._entries else f"{plain}~{digest(name)[:8]}"


def _run_directories(folder: Path, depth: int) -> list[Path]:
    """Directories with a journal, or with a command that was started here. Inside a run nobody looks further."""
    try:
        with os.scandir(folder) as listing:
            entries = list(listing)
    except OSError:
        return []
    names = {entry.name for entry in entries}
    if LOG in names or (processes.HOME in names and (folder / processes.HOME / processes.LAUNCH).is_file()):
        return [folder]
    if depth >= _DEEPEST:
        return []
    below = [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    return [found for path in below for found in _run_directories(path, depth + 1)]
