"""Reading `events.jsonl`: whole lines only, numbered without gaps, no key twice.

Bytes after the last newline are a write that a crash cut short: readers ignore them, and the writer moves them aside.
Anything else that is wrong was not done by a crash, so it is reported and never repaired silently.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic_core import from_json

from skillopt.errors import JournalError
from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import decode
from skillopt.journal.events import Event
from skillopt.journal.files import sync_directory

LOG = "events.jsonl"
TORN = "events.jsonl.torn"
BLOBS = "blobs"


class Place(NamedTuple):
    """Where an event's line lies in the log."""

    offset: int
    length: int


class Index(NamedTuple):
    places: dict[str, Place]
    end: int


def read_events(directory: Path) -> Iterator[Event]:
    """All events of a run, for any number of readers, also while it is being written."""
    path, blobs = directory / LOG, Blobs(directory / BLOBS)
    if not path.is_file():
        raise JournalError(f"There is no run in {directory}: it holds no {LOG}.")
    with path.open("rb") as file:
        for number, line in enumerate(_whole_lines(file), start=1):
            try:
                event = decode(line, blobs.get)
            except JournalError as error:
                raise JournalError(f"{path}, line {number}: {error}") from error
            if event.seq != number:
                raise JournalError(_gap(path, number, event.seq))
            yield event


def index(path: Path) -> Index:
    """Check every line and note where each key lies; the events themselves are not kept."""
    places: dict[str, Place] = {}
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(_whole_lines(file), start=1):
            key = _checked(path, number, line)
            if key in places:
                raise JournalError(
                    f"{path}, line {number}: the key {key!r} is recorded twice. Two processes wrote this run, or the"
                    " file was edited. Restore it from a backup, or start the run again in another directory."
                )
            places[key] = Place(offset, len(line))
            offset += len(line)
    return Index(places, offset)


def cut_torn_tail(directory: Path, end: int) -> int:
    """Move what follows the last newline to `events.jsonl.torn`; returns how many bytes that were."""
    path = directory / LOG
    with path.open("r+b") as file:
        file.seek(end)
        torn = file.read()
        if not torn:
            return 0
        with (directory / TORN).open("ab") as aside:
            aside.write(torn)
            aside.flush()
            os.fsync(aside.fileno())
        sync_directory(directory)
        file.truncate(end)
        file.flush()
        os.fsync(file.fileno())
    return len(torn)


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    return (line for line in file if line.endswith(b"\n"))


def _checked(path: Path, number: int, line: bytes) -> str:
    """The key of a line that is an event in form; its body is typed only when it is read."""
    try:
        raw = from_json(line)
        seq, key = raw["seq"], raw["key"]
    except (ValueError, TypeError, KeyError) as error:
        raise JournalError(
            f"{path}, line {number}: this is not a journal event ({error}). The file is damaged or was edited. Restore"
            f" it from a backup, or cut it before line {number} to continue from there (later results are made again)."
        ) from error
    if seq != number:
        raise JournalError(_gap(path, number, seq))
    return str(key)


def _gap(path: Path, number: int, seq: int) -> str:
    return (
        f"{path}, line {number}: event {seq} stands where event {number} belongs, so lines are missing or were moved."
        f" Restore the file from a backup, or cut it before line {number} to continue from there."
    )
