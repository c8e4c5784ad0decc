"""Outcomes kept between runs in one SQLite file: an attempt that was paid for once is not paid for again.

An outcome is named by content: document, item, target, settings, and replicate. Only the same replicate is found again,
so a second draw stays a second draw. Several processes may share the file; a bank that cannot be read or written costs
a warning, never a run. Runs that share a bank share its luck: they are no independent repetitions of each other.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from skillopt.types import JSON, Rollout, Usage, canonical, digest

log = logging.getLogger(__name__)

_BUSY_SECONDS = 30.0
_ROLLOUT = TypeAdapter(Rollout)
_TABLE = "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, setting TEXT, outcome TEXT, at REAL)"


class OutcomeBank:
    """The outcomes of one setting: `setting` says what, besides document, item and replicate, an outcome depends on."""

    def __init__(self, path: Path, setting: JSON) -> None:
        self._path = path
        self._setting = canonical(setting)
        self._name = digest(self._setting)
        self._made = False
        self._complained = False

    async def get(self, key: str) -> Rollout | None:
        """The outcome on record; it cost nothing this time, so its usage is none."""
        text = await asyncio.to_thread(self._guarded, self._read, key)
        if text is None:
            return None
        return replace(_ROLLOUT.validate_json(text), usage=Usage(), judging=Usage(), seconds=0.0)

    async def put(self, key: str, rollout: Rollout) -> None:
        """Keep an outcome. Missing data is not one; of two for the same name the first stays."""
        if rollout.score is None:
            return
        text = _ROLLOUT.dump_json(rollout).decode()
        await asyncio.to_thread(self._guarded, self._write, key, text)

    def _guarded(self, act: Callable[..., str | None], *arguments: str) -> str | None:
        try:
            return act(*arguments)
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._complained:
                self._complained = True
                log.warning("the bank %s cannot be used (%s); the run goes on without it", self._path, error)
            return None

    def _read(self, key: str) -> str | None:
        if not self._path.exists():
            return None
        with closing(self._open()) as db:
            row = db.execute("SELECT outcome FROM outcomes WHERE key = ?", (f"{self._name}/{key}",)).fetchone()
        return row[0] if row else None

    def _write(self, key: str, outcome: str) -> None:
        row = (f"{self._name}/{key}", self._setting, outcome, time.time())
        with closing(self._open()) as db, db:
            db.execute("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)", row)

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        if not self._made:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(_TABLE)
            self._made = True
        db.execute("PRAGMA synchronous = NORMAL")
        return db
