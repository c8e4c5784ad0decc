"""The sources as given, opened: files, folders, and archives unpacked into a scratch folder.

It keeps book of every file that was read, so the manifest can name what the data came from without any path of the
machine it was made on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from skillopt.datasets.prepare.reading import TABLES, rows_of
from skillopt.datasets.prepare.unpack import is_archive, unpack
from skillopt.datasets.sources import Row
from skillopt.errors import DataError
from skillopt.types import JSON

MANIFEST = "split_manifest.json"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One source: `path` is what is read, `given` what was named (an archive, say); `name` goes into the manifest."""

    name: str
    path: Path
    given: Path

    @property
    def folder(self) -> Path:
        """Where the files lie that its rows speak of."""
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def unpacked(self) -> bool:
        return self.path != self.given


@dataclass(slots=True)
class Stream:
    """Rows that come from no file, counted and digested (each with the digest of those before it) while they pass."""

    name: str
    source: Iterable[Row]
    count: int = 0
    chain: str = ""

    def __iter__(self) -> Iterator[Row]:
        for row in self.source:
            self.count += 1
            self.chain = _digest(self.chain + json.dumps(row, sort_keys=True, default=_named))
            yield row

    def digest(self) -> JSON:
        return {"name": self.name, "sha256": self.chain, "rows": self.count}


@dataclass(slots=True)
class Material:
    """Opened sources and perhaps a stream of rows; `seen` and `notes` grow while they are read."""

    sources: tuple[Source, ...]
    scratch: Path
    stream: Stream | None = None
    seen: dict[Path, None] = field(default_factory=dict[Path, None])
    notes: list[str] = field(default_factory=list[str])

    def rows(self, *, prefer: str = "", pattern: str = "") -> Iterator[tuple[Row, Path]]:
        """Every row with the file it came from."""
        for row in self.stream or ():
            yield row, self.scratch / "hub"
        for path in self.tables(prefer=prefer, pattern=pattern):
            self.saw(path)
            for row in rows_of(path):
                yield row, path

    def tables(self, *, prefer: str = "", pattern: str = "") -> list[Path]:
        """The files that hold rows; an empty answer is refused."""
        found = [path for source in self.sources for path in self._tables(source, prefer, pattern)]
        if not found and self.sources:
            named = ", ".join(source.name for source in self.sources)
            raise DataError(f"No {pattern or 'file with rows (' + ', '.join(TABLES) + ')'} in {named}.")
        return found

    def _tables(self, source: Source, prefer: str, pattern: str) -> list[Path]:
        if source.path.is_file():
            return [source.path]
        if pattern:
            return sorted(source.path.rglob(pattern))
        if prefer and (chosen := min(source.path.rglob(prefer), key=lambda p: (len(p.parts), p), default=None)):
            others = [path.name for path in _data(chosen.parent.iterdir()) if path != chosen]
            if others:
                self.notes.append(f"{source.name}: {prefer} was read, {', '.join(others)} not")
            return [chosen]
        return _data(source.path.iterdir()) or _data(source.path.rglob("*"))

    def saw(self, path: Path) -> None:
        """Note that a file's content went into the result."""
        self.seen[path] = None

    def folders(self, near: Path) -> tuple[Path, ...]:
        """Where a named file may lie: beside the file with its row, then in any source."""
        return tuple(dict.fromkeys((near.parent, *(source.folder for source in self.sources))))

    def digests(self) -> list[JSON]:
        """One row for each source, by name alone."""
        return [*([self.stream.digest()] if self.stream else []), *(self._digest(source) for source in self.sources)]

    def _digest(self, source: Source) -> JSON:
        if source.given.is_file():
            return {"name": source.name, "sha256": sha256(source.given), "bytes": source.given.stat().st_size}
        inside = [path for path in self.seen if path.is_relative_to(source.path)]
        return {"name": source.name, **tree_digest(source.path, inside)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _named(value: object) -> str:
    """Bytes by their digest: a page is too long to be written out."""
    return hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else str(value)


def opened(paths: Sequence[Path], scratch: Path) -> Material:
    """The sources, with archives unpacked."""
    return Material(tuple(_open(path, scratch / f"source{n}") for n, path in enumerate(paths)), scratch)


def _open(path: Path, room: Path) -> Source:
    name = path.resolve().name
    if not path.exists():
        raise DataError(f"The source {path} does not exist.")
    if not (path.is_file() and is_archive(path)):
        return Source(name, path, path)
    room.mkdir(parents=True)
    unpack(path, room)
    return Source(name, room, path)


def _data(paths: Iterable[Path]) -> list[Path]:
    def wanted(path: Path) -> bool:
        return path.suffix.lower() in TABLES and path.name != MANIFEST and path.name[0] != "." and path.is_file()

    return sorted(filter(wanted, paths))


def inside(folder: Path, name: str) -> Path | None:
    """The file or folder of this name below `folder`; a name that leads out of it finds nothing."""
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts:
        return None
    found = folder / path
    return found if found.exists() else None


def sha256(path: Path) -> str:
    total = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


def tree_digest(root: Path, files: Iterable[Path]) -> dict[str, JSON]:
    """One digest for many files: of their names below `root` and their contents, whatever order they come in."""
    names = {Path(os.path.relpath(path, root)).as_posix(): path for path in files}
    lines = [f"{sha256(path)}  {name}\n" for name, path in sorted(names.items())]
    return {"sha256": hashlib.sha256("".join(lines).encode()).hexdigest(), "files": len(lines)}
