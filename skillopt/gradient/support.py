"""Who argues for an edit: support is carried through every rewording, because the gate and the reader ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt.types import Edit


@dataclass(frozen=True, slots=True)
class Support:
    """The items behind an edit. `count` may exceed the named items; None means that nobody knows."""

    items: tuple[str, ...] = ()
    count: int | None = None


def named(ids: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """The ids that exist, once each, in the order of `known`; a model may also name items that are not there."""
    wanted = {text.strip() for text in ids}
    return tuple(item for item in dict.fromkeys(known) if item in wanted)


def united(edits: Sequence[Edit]) -> Support:
    """The support of several edits taken as one: items are counted once, bare counts are added up."""
    items = tuple(dict.fromkeys(item for edit in edits for item in edit.support))
    bare = [edit.support_count for edit in edits if not edit.support and edit.support_count is not None]
    largest = max((edit.support_count or 0 for edit in edits), default=0)
    count = max(len(items) + sum(bare), largest)
    return Support(items, count or None)
