"""Answers kept in one SQLite file, so that the same question to the same model is paid for once.

Off unless asked for: a second draw is then the first one again. Several processes may share the file. A cache that
cannot be read or written costs a warning, never a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from skillopt.model.types import Completion, Provider, Request, ToolCall
from skillopt.types import JSON, Usage, canonical

log = logging.getLogger(__name__)

Accepts = Callable[[Request], bool]
_BUSY_SECONDS = 30.0


class AnswerStore:
    """The file. Every access is its own short connection in a thread: nothing to lock, nothing to close."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made = False
        self._complained = False

    async def get(self, key: str) -> JSON:
        return await asyncio.to_thread(self._guarded, self._read, key)

    async def put(self, key: str, answer: JSON) -> None:
        await asyncio.to_thread(self._guarded, self._write, key, json.dumps(answer))

    def _guarded(self, act: Callable[..., JSON], *arguments: str) -> JSON:
        try:
            return act(*arguments)
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._complained:
                self._complained = True
                log.warning("the cache %s cannot be used (%s); calls go on without it", self._path, error)
            return None

    def _read(self, key: str) -> JSON:
        if not self._path.exists():
            return None
        with closing(self._open()) as db:
            row = db.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def _write(self, key: str, answer: str) -> None:
        with closing(self._open()) as db, db:
            db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, answer, time.time()))

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        if not self._made:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT, at REAL)")
            self._made = True
        db.execute("PRAGMA synchronous = NORMAL")
        return db


class Cache:
    """A provider that remembers. An answer from the file uses no call and no tokens."""

    def __init__(self, provider: Provider, store: AnswerStore, accepts: Accepts) -> None:
        self._provider, self._store, self._accepts = provider, store, accepts

    @property
    def identity(self) -> str:
        return self._provider.identity

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: Request) -> Completion:
        if not self._accepts(request):
            return await self._provider.complete(request)
        key = key_of(request, self.identity)
        if (kept := _completion(await self._store.get(key))) is not None:
            return kept
        completion = await self._provider.complete(request)
        await self._store.put(key, _row(completion))
        return completion


def key_of(request: Request, identity: str) -> str:
    """The name of a question to a model. When it is asked, and how long one would wait, are not part of it."""
    row = asdict(request)
    del row["stage"], row["timeout"]
    return hashlib.sha256(canonical([identity, row]).encode("utf-8", "surrogatepass")).hexdigest()


def _row(completion: Completion) -> JSON:
    calls = [[call.id, call.name, call.arguments] for call in completion.tool_calls]
    return {"text": completion.text, "finish": completion.finish, "model": completion.model, "tool_calls": calls}


def _completion(row: JSON) -> Completion | None:
    if not isinstance(row, dict):
        return None
    calls = tuple(ToolCall(*map(str, call)) for call in row.get("tool_calls") or ())
    return Completion(str(row["text"]), Usage(), str(row["finish"]), str(row["model"]), calls)
