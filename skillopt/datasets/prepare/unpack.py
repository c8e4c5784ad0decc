"""Archives from strangers: nothing is written outside the given folder, no link is made, and no bomb fills the disk.

Sizes are counted while they are written, because what an archive says of itself may be a lie.
"""

from __future__ import annotations

import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from skillopt.errors import DataError

_TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")
_CHUNK = 1 << 20
_BROKEN = (
    OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError,
    zlib.error,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one archive may hold."""

    files: int = 200_000
    size: int = 32 << 30


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith((".zip", ".gz", *_TARS))


def unpack(archive: Path, into: Path, limits: Limits | None = None) -> None:
    """Unpack below `into`, or raise a `DataError` that names what is wrong."""
    limits = limits or Limits()
    count, left = 0, limits.size
    try:
        for name, stream in _members(archive):
            count += 1
            if count > limits.files:
                raise DataError(f"{archive.name} holds more than {limits.files} files; unpack it yourself.")
            left -= _write(stream, into / _place(archive, name), left, archive)
    except DataError:
        raise
    except _BROKEN as error:
        raise DataError(
            f"{archive.name} cannot be unpacked: {error or type(error).__name__}. Fetch it again."
        ) from error


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    name = archive.name.lower()
    if name.endswith(".zip"):
        yield from _zipped(archive)
    elif name.endswith(_TARS):
        yield from _tarred(archive)
    else:
        with gzip.open(archive) as stream:
            yield archive.name[:-3], cast("IO[bytes]", stream)


def _zipped(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            if stat.S_ISLNK(member.external_attr >> 16):
                raise _link(archive, member.filename)
            if not member.is_dir() and not _clutter(member.filename):
                with file.open(member) as stream:
                    yield member.filename, stream


def _tarred(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive, "r|*") as file:
        for member in file:
            if member.isdir() or _clutter(member.name):
                continue
            stream = file.extractfile(member) if member.isreg() else None
            if stream is None:
                raise _link(archive, member.name)
            yield member.name, stream


def _clutter(name: str) -> bool:
    """What macOS adds to archives."""
    path = PurePosixPath(name)
    return "__MACOSX" in path.parts or path.name.startswith("._")


def _link(archive: Path, name: str) -> DataError:
    return DataError(
        f"{archive.name} holds {name!r}, which is a link or a device: unpack it yourself, give the folder."
    )


def _place(archive: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or any(sign in name for sign in "\\:\0"):
        raise DataError(
            f"{archive.name} holds {name!r}, which would be written outside its folder; it is not unpacked."
        )
    return Path(*path.parts)


def _write(stream: IO[bytes], path: Path, left: int, archive: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    # "x": a name that comes twice would hide its first content.
    with path.open("xb") as file:
        while chunk := stream.read(_CHUNK):
            written += len(chunk)
            if written > left:
                raise DataError(f"{archive.name} unpacks to more than is allowed here; unpack it yourself.")
            file.write(chunk)
    return written
