"""Which step and edit brought a line of the document, which items argued for it, and what flipped after it.

A line belongs to the last accepted change that wrote it. Lines are followed through every document that was current;
the regions that SkillOpt writes itself (slow update, appendix) are followed like all others.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from skillopt.claims.ledger import Judged, Ledger
from skillopt.types import JSON, Decision, Edit

SEED = "seed"
HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a line came from: the place of its decision and, where one edit accounts for it, that edit's number.

    `support` are items that argued for the edit; `gained` and `broken` flipped with the whole change it was part of.
    """

    at: str
    edit: int | None = None
    op: str = ""
    why: str = ""
    support: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    change: float | None = None

    @property
    def brought(self) -> bool:
        return self.at not in (SEED, HAND)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    source: Source

    def to_dict(self) -> dict[str, JSON]:
        return {"line": self.number, "text": self.text} | asdict(self.source)


def blame(ledger: Ledger, text: str | None = None) -> tuple[Line, ...]:
    """The best document of a run line by line, or `text`, which may have been edited by hand since."""
    best = ledger.best
    lines = [(line, Source(SEED)) for line in _lines(ledger.view.seed_skill)]
    known = {best.digest: lines} if best.digest == ledger.seed.digest else {}
    for judged in ledger.judged:
        if judged.moved:
            lines = _followed(lines, judged)
            known[judged.after.current.digest] = lines
    found = known.get(best.digest, lines)
    if text is not None:
        found = _matched(found, _lines(text), lambda _: Source(HAND))
    return tuple(Line(number, line, source) for number, (line, source) in enumerate(found, start=1))


def sources(lines: Sequence[Line]) -> tuple[Source, ...]:
    """The changes that still have a line in the document, in the order of the lines."""
    return tuple(dict.fromkeys(line.source for line in lines if line.source.brought))


Owned = list[tuple[str, Source]]


def _followed(lines: Owned, judged: Judged) -> Owned:
    return _matched(lines, _lines(judged.after.current.text), lambda line: _source(judged.decision, line))


def _matched(lines: Owned, new: list[str], origin: Callable[[str], Source]) -> Owned:
    """Lines that stayed keep their source; the others get one from `origin`. Blank lines follow their neighbour."""
    old = [line for line, _ in lines]
    found: Owned = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found += lines[i:j]
        else:
            found += _written(new[k:m], origin)
    return found


def _written(lines: Sequence[str], origin: Callable[[str], Source]) -> Owned:
    """New lines with their sources; a blank one belongs to the line after it, at the end to the one before."""
    named = [origin(line) if line.strip() else None for line in lines]
    found: Owned = []
    for place, line in enumerate(lines):
        near = (*named[place:], *reversed(named[:place]))
        found.append((line, next((source for source in near if source is not None), origin(""))))
    return found


def _source(decision: Decision, line: str) -> Source:
    change = None if decision.objective is None or decision.bar is None else decision.objective - decision.bar
    whole = Source(decision.at, gained=decision.gained, broken=decision.broken, change=change)
    for number, edit in enumerate(decision.patch.edits, start=1):
        if _wrote(edit, line):
            return replace(whole, edit=number, op=edit.op, why=edit.why, support=edit.support)
    return whole


def _wrote(edit: Edit, line: str) -> bool:
    words = line.strip()
    return bool(words) and words in (written.strip() for written in _lines(edit.content))


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
