"""Bringing a program's files out without being led astray by them.

Everything that comes out of a box is foreign: names are checked, links are never followed or made, sizes are bounded,
and the work directory changes only when the whole of it has arrived.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillopt.agents.sandbox.inside import parcel

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NAMED = 20
_LONGEST = 4000


def collect(work: Path, name: str, *, max_bytes: int = 64 << 20) -> bytes | None:
    """The content of a regular file in `work`; None for anything else: absent, a link, a pipe, outside, too large."""
    try:
        parts = _parts(os.fsencode(name))
        with _folder(os.fsencode(work), parts[:-1]) as folder:
            handle = os.open(parts[-1], _FILE, dir_fd=folder)
            with open(handle, "rb") as file:
                found = os.fstat(handle)
                if not stat.S_ISREG(found.st_mode) or found.st_size > max_bytes:
                    return None
                data = file.read(max_bytes + 1)
                return data if len(data) <= max_bytes else None
    except (OSError, ValueError):
        return None


def _parts(name: bytes) -> tuple[bytes, ...]:
    parts = tuple(name.split(b"/"))
    if len(name) > _LONGEST or b"\0" in name or any(part in (b"", b".", b"..") for part in parts):
        raise ValueError(f"{name!r} is no name within a folder")
    return parts


@contextmanager
def _folder(root: bytes, parts: tuple[bytes, ...], *, make: bool = False) -> Generator[int, None, None]:
    """A handle of the folder, opened step by step so that no step is a link."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                _clear(part, handle, keep_folder=True)
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=handle)
            deeper = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


def _clear(name: bytes, folder: int, *, keep_folder: bool = False) -> None:
    """Make room: what has become a file was a folder, or the other way round."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
        elif not keep_folder:
            shutil.rmtree(name, dir_fd=folder)  # pyright: ignore[reportCallIssue]


class Arrival:
    """Takes frames until the last, then lets the work directory become what the box left. A context manager."""

    def __init__(self, work: Path, room: int, seeded: frozenset[bytes]) -> None:
        self._work = os.fsencode(work)
        self._stage = os.path.join(self._work, b".arriving-" + secrets.token_hex(8).encode())
        self._room = room
        self._seeded = seeded
        self._folders: list[bytes] = []
        self._files: dict[bytes, tuple[bytes, int]] = {}
        self._same: set[bytes] = set()
        self._refused: list[bytes] = []
        self._entries = 0
        self._target = -1

    def __enter__(self) -> Arrival:
        os.mkdir(self._stage, 0o700)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        shutil.rmtree(self._stage, ignore_errors=True)

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(os.fsdecode(name).encode(errors="replace").decode() for name in self._refused[:_NAMED])

    def take(self, kind: bytes, payload: bytes) -> None:
        """One frame. Whatever is not as agreed raises ValueError, and nothing is kept."""
        if kind == parcel.CHUNK:
            self._write(payload)
            return
        self._close()
        self._entries += 1
        if self._entries > parcel.MOST_ENTRIES + 1:
            raise ValueError("too many entries")
        if kind == parcel.REFUSED:
            self._refused.append(payload)
        elif _parts(payload) and kind == parcel.FOLDER:
            self._folders.append(payload)
        elif kind == parcel.SAME and payload in self._seeded:
            self._same.add(payload)
        elif kind in (parcel.FILE, parcel.PROGRAM):
            self._open(payload, 0o755 if kind == parcel.PROGRAM else 0o644)
        else:
            raise ValueError(f"an unknown frame {kind!r}")

    def settle(self) -> None:
        """Files move into place one by one, each whole; those that were sent in and are no more are removed."""
        self._close()
        for name in self._seeded - self._same - self._files.keys():
            self._remove(name)
        for name in self._folders:
            with _folder(self._work, _parts(name), make=True):
                pass
        for name, (staged, _) in self._files.items():
            *above, last = _parts(name)
            with _folder(self._work, tuple(above), make=True) as folder:
                _clear(last, folder)
                os.rename(staged, last, dst_dir_fd=folder)

    def _open(self, name: bytes, mode: int) -> None:
        staged = os.path.join(self._stage, str(len(self._files)).encode())
        self._target = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        self._files[name] = (staged, mode)

    def _write(self, data: bytes) -> None:
        self._room -= len(data)
        if self._target < 0 or self._room < 0:
            raise ValueError("more than was agreed")
        view = memoryview(data)
        while view:
            view = view[os.write(self._target, view) :]

    def _close(self) -> None:
        if self._target >= 0:
            os.close(self._target)
            self._target = -1

    def _remove(self, name: bytes) -> None:
        *above, last = _parts(name)
        with suppress(OSError), _folder(self._work, tuple(above)) as folder:
            os.unlink(last, dir_fd=folder)
