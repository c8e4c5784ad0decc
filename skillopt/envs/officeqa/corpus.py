"""The bulletins under some folders: walked once, named by their place, looked up by name alone.

A name that a model gives is only ever a key of the index and never a path, so nothing outside can be reached. Links
that lead out of a folder are not in the index. Of several forms of one bulletin in a folder the plainest is taken.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import translate
from functools import cached_property
from pathlib import Path, PurePosixPath

from skillopt.envs.officeqa.convert import INSTALL
from skillopt.envs.officeqa.shelf import Document, Shelf
from skillopt.errors import DataError

log = logging.getLogger(__name__)

FORMS = (".txt", ".md", ".json", ".pdf")
"""Plainest first."""
PAGED_FORMS = (".json", ".pdf", ".md", ".txt")
"""Likeliest to know its pages first."""
PREFERRED = "transformed"
"""A folder of this name inside a corpus holds the texts that were made to be read."""


@dataclass(frozen=True, slots=True)
class Root:
    """`home` is what was configured; `shown` is the part of it that targets see."""

    home: Path
    shown: Path


class Corpus:
    """Two of the same folders are equal: what is remembered of them is not part of them."""

    def __init__(self, folders: tuple[str, ...], cache: Path) -> None:
        self._folders = folders
        self.shelf = Shelf(cache)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Corpus) and other._folders == self._folders

    def __hash__(self) -> int:
        return hash(self._folders)

    def __repr__(self) -> str:
        return f"Corpus({', '.join(self._folders)})"

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        homes = (Path(folder).expanduser() for folder in self._folders)
        return tuple(Root(home, home / PREFERRED if (home / PREFERRED).is_dir() else home) for home in homes)

    @cached_property
    def documents(self) -> Mapping[str, Document]:
        """What targets may see, by name, in the order of names."""
        prefixes = _prefixes(self.roots)
        found: dict[str, Document] = {}
        for root, prefix in zip(self.roots, prefixes, strict=True):
            for path in _plainest(_walk(root.shown)):
                name = prefix + path.relative_to(root.shown).as_posix()
                found[name] = Document(name, path, root.home)
        return dict(sorted(found.items()))

    def check(self) -> None:
        """Refuse a corpus that cannot be used, before anything is paid for."""
        absent = [str(root.home) for root in self.roots if not root.home.is_dir()]
        if absent:
            raise DataError(
                f"env.data_dirs: there is no folder {', '.join(absent)}. Name the folder that holds the bulletins "
                f"({', '.join(FORMS)}) in env.data_dirs."
            )
        if not self.documents:
            raise DataError(f"env.data_dirs: no {', '.join(FORMS)} file below {', '.join(self._folders)}.")
        if any(d.path.suffix.lower() == ".pdf" for d in self.documents.values()) and not _pypdf():
            raise DataError(f"env.data_dirs: {INSTALL}")

    def find(self, name: str) -> Document | None:
        """By its name; else by its last part or stem, when only one document has it."""
        wanted = name.strip().removeprefix("./")
        if wanted in self.documents:
            return self.documents[wanted]
        if ".." in wanted or wanted.startswith(("/", "\\", "~")):
            return None
        for key in (_last, _stem):
            alike = [d for n, d in self.documents.items() if key(n) == key(wanted)]
            if len(alike) == 1:
                return alike[0]
        return None

    def near(self, name: str) -> list[str]:
        return get_close_matches(_last(name), self.documents, n=3, cutoff=0.5)

    def matching(self, pattern: str) -> list[Document]:
        """By a shell pattern on the whole name or its last part; a folder's name stands for what it holds."""
        text = pattern.strip().removeprefix("./").casefold().replace("**/", "*") or "*"
        like = re.compile(translate(text))
        inside = text.rstrip("/") + "/"
        return [
            document
            for name, document in self.documents.items()
            if like.match(low := name.casefold()) or like.match(_last(low)) or low.startswith(inside)
        ]

    def source(self, file: str) -> Document | None:
        """A gold file in whatever form the folders hold it, the one that knows its pages first."""
        stem = _stem(file)
        found = [d for d in self._everything if _stem(d.name) == stem]
        return min(found, key=lambda d: PAGED_FORMS.index(d.path.suffix.lower()), default=None)

    @cached_property
    def _everything(self) -> tuple[Document, ...]:
        return tuple(Document(path.name, path, root.home) for root in self.roots for path in _walk(root.home))


def _walk(folder: Path) -> Iterator[Path]:
    """Files of a known form in a folder, without hidden ones and without links that lead out of it."""
    home = folder.resolve()
    for place, below, files in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if name.startswith(".") or path.suffix.lower() not in FORMS:
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(home):
                log.warning("%s is left out: it is a link to a file outside of %s", path, folder)
                continue
            yield path


def _plainest(paths: Iterable[Path]) -> Iterator[Path]:
    best: dict[Path, Path] = {}
    for path in paths:
        other = best.setdefault(path.with_suffix(""), path)
        if FORMS.index(path.suffix.lower()) < FORMS.index(other.suffix.lower()):
            best[path.with_suffix("")] = path
    return iter(best.values())


def _prefixes(roots: tuple[Root, ...]) -> tuple[str, ...]:
    """One folder needs none; several get their names, numbered where they are the same."""
    if len(roots) == 1:
        return ("",)
    names = [root.home.name for root in roots]
    return tuple(f"{n}/" if names.count(n) == 1 else f"{n}-{i}/" for i, n in enumerate(names, start=1))


def _last(name: str) -> str:
    return PurePosixPath(name).name.casefold()


def _stem(name: str) -> str:
    last = _last(name)
    return last[: last.rfind(".")] if last.endswith(FORMS) else last


def _pypdf() -> bool:
    from importlib.util import find_spec

    return find_spec("pypdf") is not None
