"""Files and notes as frames on one socket, the same in both directions.

A folder travels as copies, never as a mount: so its size can be bounded by a tmpfs, and what comes back is plain data
that is checked on arrival. Links and special files do not travel.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Frame = tuple[bytes, bytes]
    Signature = tuple[int, int, int]

PLAN, FOLDER, FILE, PROGRAM, CHUNK, SAME, REFUSED, STDIN, BEGUN, EXIT, END, ERROR = (
    b"P", b"D", b"F", b"G", b"C", b"S", b"R", b"I", b"B", b"X", b"E", b"!"
)  # fmt: skip
HEADER = 5
CHUNK_BYTES = 1 << 18
LONGEST = 1 << 20
MOST_ENTRIES = 10_000


def framed(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + len(payload).to_bytes(4, "little") + payload


def header(head: bytes) -> tuple[bytes, int]:
    """The kind and the payload's length; a length no honest sender uses is refused before it is read."""
    length = int.from_bytes(head[1:HEADER], "little")
    if length > LONGEST:
        raise ValueError(f"a frame of {length} bytes")
    return head[:1], length


def signature(path: bytes) -> Signature:
    """Changes with every change of the file; the change time, unlike the modification time, cannot be set."""
    found = os.lstat(path)
    return found.st_ino, found.st_size, found.st_ctime_ns


def pack(root: bytes, room: int, known: Mapping[bytes, Signature]) -> Iterator[Frame]:
    """What lies beneath `root`, at most `room` bytes of it. Files that are still as `known` are only named."""
    folders = [b""]
    entries = 0
    while folders:
        folder = folders.pop()
        for name in _names(root, folder):
            entries += 1
            if entries > MOST_ENTRIES:
                yield REFUSED, b"(more than %d entries)" % MOST_ENTRIES
                return
            path = os.path.join(root, name)
            kind = _kind(path)
            if kind == FOLDER:
                folders.append(name)
                yield FOLDER, name
            elif kind is None:
                yield REFUSED, name
            elif name in known and signature(path) == known[name]:
                yield SAME, name
            else:
                for frame in _file(path, name, room):
                    room -= len(frame[1]) if frame[0] == CHUNK else 0
                    yield frame


def _names(root: bytes, folder: bytes) -> list[bytes]:
    try:
        found = sorted(os.listdir(os.path.join(root, folder)))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in found]


def _kind(path: bytes) -> bytes | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return FOLDER if stat.S_ISDIR(mode) else FILE if stat.S_ISREG(mode) else None


def _file(path: bytes, name: bytes, room: int) -> Iterator[Frame]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield REFUSED, name
        return
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > room:
            yield REFUSED, name
            return
        yield (PROGRAM if found.st_mode & 0o100 else FILE), name
        # The file may grow while it is read; only the size it had counts.
        left = found.st_size
        while left > 0 and (chunk := os.read(handle, min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield CHUNK, chunk
    finally:
        os.close(handle)
