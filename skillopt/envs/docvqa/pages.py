"""Page images: found, checked and named by content before anything is paid.

A page's digest stands for it in the item; the path is only where it lies today, so a moved data set is the same data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.agents.pictures import complaint


@dataclass(frozen=True, slots=True)
class Page:
    """An image file; `problem` says why it cannot be used."""

    path: Path
    sha: str = ""
    problem: str = ""


class Pages:
    """Finds pages. A file is read once, however many questions are about it."""

    def __init__(self) -> None:
        self._read: dict[Path, Page] = {}

    def found(self, name: str, places: Sequence[Path]) -> Page:
        """The page called `name`, looked for in the places in their order; an absolute path is taken as it is."""
        looked = tuple(dict.fromkeys((place / name).absolute() for place in places))
        path = next(filter(_is_file, looked), None)
        if path is None:
            where = f"; looked for {', '.join(map(str, looked))}" if looked[0] != Path(name) else ""
            return Page(Path(name), problem=f"the image {name!r} does not exist{where}")
        if path not in self._read:
            self._read[path] = _page(path)
        return self._read[path]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name no file can have, or a folder that is closed to us
        return False


def _page(path: Path) -> Page:
    try:
        data = path.read_bytes()
    except OSError as error:
        return Page(path, problem=f"the image {path} cannot be read: {error.strerror}")
    if said := complaint(data):
        return Page(path, problem=f"the image {path} {said}")
    return Page(path, hashlib.sha256(data).hexdigest())
