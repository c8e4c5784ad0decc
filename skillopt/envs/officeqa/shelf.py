"""Texts of documents, in memory within bounds.

A search looks at lower-case copies. These stay until `KEPT` bytes are full, and are never given up for others: a scan
of everything would push each copy out just before its turn. Beyond the bound, files are read again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from skillopt.envs.officeqa.convert import CONVERTED, DAMAGED, cached, convert
from skillopt.errors import DataError
from skillopt.together import together

log = logging.getLogger(__name__)

KEPT = 256 << 20
RECENT = 32 << 20
LONGEST_LINE = 2000
"""Longer lines are folded, so that everything can be read line by line."""
_BATCH = 4
_SECONDS_PER_FILE = 300.0


@dataclass(frozen=True, slots=True)
class Document:
    """`home` is the folder that it must not lead out of."""

    name: str
    path: Path
    home: Path


class Shelf:
    """Safe to use from several threads."""

    def __init__(self, cache: Path, *, kept: int = KEPT, recent: int = RECENT) -> None:
        self._cache = cache
        self._room, self._recent_room = kept, recent
        self._lowered: dict[Path, bytes] = {}
        self._recent: OrderedDict[Path, bytes] = OrderedDict()
        self._texts: dict[Path, Path] = {}
        self._guard = Lock()
        self._converting = asyncio.Lock()

    def text(self, document: Document) -> bytes:
        """The document as UTF-8."""
        with self._guard:
            if (found := self._recent.get(document.path)) is not None:
                self._recent.move_to_end(document.path)
                return found
        text = folded(self._file(document).read_bytes())
        with self._guard:
            if document.path not in self._recent and len(text) <= self._recent_room:
                self._recent[document.path] = text
                self._recent_room -= len(text)
            while self._recent_room < 0 and self._recent:
                self._recent_room += len(self._recent.popitem(last=False)[1])
        return text

    def lowered(self, document: Document) -> bytes:
        """The same in lower case, byte for byte in the same places."""
        if (found := self._lowered.get(document.path)) is not None:
            return found
        lowered = folded(self._file(document).read_bytes()).lower()
        with self._guard:
            if document.path not in self._lowered and len(lowered) <= self._room:
                self._room -= len(lowered)
                self._lowered[document.path] = lowered
        return lowered

    async def ready(self, documents: Iterable[Document]) -> None:
        """Make the texts of documents that are no texts yet, in child processes; the loop stays free."""
        wanted = [d for d in documents if d.path.suffix.lower() in CONVERTED and d.path not in self._texts]
        if not wanted:
            return
        async with self._converting:
            wanted = [d for d in wanted if d.path not in self._texts]
            places = await asyncio.to_thread(self._places, wanted)
            missing = sorted(path for path, text in places.items() if not text.is_file())
            if missing:
                log.warning(
                    "converting %d documents to text, once; the texts are kept in %s", len(missing), self._cache
                )
                await convert_all(missing, self._cache)
            self._texts |= places

    def _places(self, documents: Sequence[Document]) -> dict[Path, Path]:
        try:
            return {d.path: cached(d.path, self._cache) for d in documents}
        except OSError as error:
            raise DataError(f"env.data_dirs: {error.filename} cannot be read: {error.strerror}.") from error

    def _file(self, document: Document) -> Path:
        if not document.path.resolve().is_relative_to(document.home.resolve()):
            raise OSError("it has become a link to a file outside of the corpus")
        if document.path.suffix.lower() not in CONVERTED:
            return document.path
        return self._texts.get(document.path) or convert(document.path, self._cache)


async def convert_all(files: Sequence[Path], cache: Path) -> None:
    """Convert in as many processes as there are cores; all damaged files are named together."""
    cores = os.cpu_count() or 1
    slots, size = asyncio.Semaphore(cores), min(_BATCH, -(-len(files) // cores))
    batches = [files[at : at + size] for at in range(0, len(files), size)]

    async def one(batch: Sequence[Path]) -> list[str]:
        async with slots:
            return await _converted(batch, cache)

    problems = [line for found in await together(one(batch) for batch in batches) for line in found]
    if problems:
        raise DataError([f"env.data_dirs: {problem}" for problem in problems])


async def _converted(batch: Sequence[Path], cache: Path) -> list[str]:
    command = (sys.executable, "-m", "skillopt.envs.officeqa.convert", str(cache), *map(str, batch))
    child = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await asyncio.wait_for(child.communicate(), _SECONDS_PER_FILE * len(batch))
    except asyncio.TimeoutError:
        names = ", ".join(map(str, batch))
        return [f"one of these could not be converted within {_SECONDS_PER_FILE:g} s a file: {names}"]
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == 0:
        return []
    lines = said.decode("utf-8", "replace").splitlines()
    if child.returncode == DAMAGED:
        return lines
    return [f"converting {', '.join(map(str, batch))} failed: {' '.join(lines)[-500:] or f'exit {child.returncode}'}"]


def folded(raw: bytes) -> bytes:
    """UTF-8 with plain line ends, no line longer than `LONGEST_LINE` bytes."""
    text = raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = text.decode("utf-8", "replace").encode()
    if all(len(line) <= LONGEST_LINE for line in text.split(b"\n")):
        return text
    return b"\n".join(piece for line in text.split(b"\n") for piece in _pieces(line))


def _pieces(line: bytes) -> list[bytes]:
    """Cut at spaces where there are any, and never inside a character."""
    found: list[bytes] = []
    while len(line) > LONGEST_LINE:
        space = line.rfind(b" ", 1, LONGEST_LINE)
        cut = space if space > 0 else LONGEST_LINE
        while cut > 1 and space <= 0 and line[cut] & 0xC0 == 0x80:
            cut -= 1
        found.append(line[:cut])
        line = line[cut:]
    return [*found, line]
