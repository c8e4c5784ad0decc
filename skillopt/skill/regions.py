"""The protected regions of a skill document: their markers, how they are found, and how forged ones are removed.

Only the exact markers give a text structure. Content written by a model is cleaned of every spelling of them, again and
again until none is left, so no text can open, close or double a region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

RegionName = Literal["appendix", "slow_update"]

ORDER: tuple[RegionName, ...] = ("appendix", "slow_update")
"""The order in which regions stand at the end of the document."""

_EXACT = re.compile(r"<!-- (SLOW_UPDATE|APPENDIX)_(START|END) -->")
_EXACT_LINE = re.compile(rf"^[ \t]*(?:{_EXACT.pattern})[ \t]*(?:\r?\n|\Z)|{_EXACT.pattern}", re.M)
_ANY = re.compile(r"<!-*\s*(SLOW[ \t_-]*UPDATE|APPENDIX)[ \t_-]*(START|END)\s*-*>", re.I)
_ROUNDS = 8
"""Nobody nests markers this deep by accident; what is left then is broken up instead of removed layer by layer."""


@dataclass(frozen=True, slots=True)
class Region:
    """One protected part of the document; `text` never holds a marker."""

    name: RegionName
    text: str

    @property
    def block(self) -> str:
        """The region with its markers; an empty region keeps both, so its place stays visible."""
        word = self.name.upper()
        inner = f"{self.text}\n" if self.text else ""
        return f"<!-- {word}_START -->\n{inner}<!-- {word}_END -->"


@dataclass(frozen=True, slots=True)
class Parted:
    """A text taken apart: what stands outside the regions, and the regions in canonical order."""

    outside: str
    regions: tuple[Region, ...]


def part(text: str) -> Parted:
    """Split off the well-formed regions.

    A region is a start marker whose next marker is its own end. The first one of a name counts; markers of later
    copies and all orphans are dropped, and the text around them stays outside, so nothing a person wrote is lost.
    """
    found: dict[RegionName, Region] = {}
    marks = tuple(_EXACT.finditer(text))
    pieces: list[str] = []
    done = 0
    for start, end in pairwise(marks):
        name: RegionName = "slow_update" if start[1] == "SLOW_UPDATE" else "appendix"
        if (start[1], start[2], end[2]) != (end[1], "START", "END") or name in found:
            continue
        found[name] = Region(name, text[start.end() : end.start()].strip())
        pieces.append(text[done : start.start()])
        done = end.end()
    pieces.append(text[done:])
    return Parted(_without(_EXACT, _EXACT_LINE, _joined(pieces)), in_order(found.values()))


def in_order(regions: Iterable[Region]) -> tuple[Region, ...]:
    return tuple(sorted(regions, key=lambda r: ORDER.index(r.name)))


def has_exact_marker(text: str) -> bool:
    return _EXACT.search(text) is not None


def has_marker(text: str) -> bool:
    """Whether any spelling of a marker occurs."""
    return _ANY.search(text) is not None


def cleaned(text: str) -> str:
    """Foreign text made safe: stripped, without any spelling of a marker, and encodable as UTF-8."""
    return _without(_ANY, _ANY, text.encode("utf-8", "replace").decode()).strip()


def without_forged_regions(text: str) -> str:
    """A model-written document without the regions it claims to have, their text included."""
    return cleaned(_without_pairs(text))


def _without_pairs(text: str) -> str:
    """Cut from the first start marker of a name to the next end of it."""
    pieces: list[str] = []
    opened: dict[str, int] = {}
    done = 0
    for mark in _ANY.finditer(text):
        name = mark[1][0].upper()
        if mark[2].upper() == "START":
            opened.setdefault(name, mark.start())
        elif name in opened:
            pieces.append(text[done : opened[name]])
            done = mark.end()
            opened.clear()
    return _joined([*pieces, text[done:]])


def _joined(pieces: list[str]) -> str:
    """The pieces around removed regions, one blank line between them; a single piece is left as it is."""
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    parts = [first.rstrip(), *(p.strip() for p in middle), last.strip()]
    return "\n\n".join(p for p in parts if p)


def _without(mark: re.Pattern[str], removed: re.Pattern[str], text: str) -> str:
    """Remove marks until none is left, since what stood around one may join into another."""
    for _ in range(_ROUNDS):
        if mark.search(text) is None:
            return text
        text = removed.sub("", text)
    return text.replace("<!", "< !")
