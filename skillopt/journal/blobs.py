"""Long texts live beside the log, each once, under the SHA-256 of its content.

A skill of forty kilobytes appears in many events; naming it by content keeps lines short and stores it a single time.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from skillopt.errors import JournalError
from skillopt.journal.files import sync_directory, write_atomic


class Blobs:
    """The directory `<run>/blobs`. A file appears only when it is complete, so a reader never sees half a text."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._unsynced = False

    def put(self, text: str) -> str:
        """Store a text and return its full digest. The bytes are on disk; `sync` makes the name durable too."""
        data = text.encode()
        digest = hashlib.sha256(data).hexdigest()
        path = self._directory / digest
        if not path.exists():
            write_atomic(path, data, durable=True)
            self._unsynced = True
        return digest

    def sync(self) -> None:
        """Make the new names durable: one directory fsync for any number of texts."""
        if self._unsynced:
            sync_directory(self._directory)
            self._unsynced = False

    def get(self, digest: str, needed_by: str = "") -> str:
        """The text under a digest, checked against it."""
        path = self._directory / digest
        wanted = f" It is needed by the event {needed_by!r}." if needed_by else ""
        restore = f"Restore {os.fspath(path)} from a backup, or start the run again in another directory."
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise JournalError(f"The journal's text {digest} is missing.{wanted} {restore}") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise JournalError(f"The journal's text {digest} is damaged: its content has changed.{wanted} {restore}")
        return data.decode()
