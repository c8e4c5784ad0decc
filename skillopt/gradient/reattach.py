"""Giving merged edits their support back: a merge editor rewrites texts and often forgets who argued for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from skillopt.gradient.schemas import EditRow
from skillopt.gradient.support import named, united
from skillopt.types import Edit


def reattach(row: EditRow, inputs: Sequence[Edit], side: Literal["failure", "success", "final"]) -> Edit:
    """The row as an edit, with items it names or those of its kin; counts are bounded by what came in."""
    kin = _kin(row, inputs)
    known = [item for edit in inputs for item in edit.support]
    behind = united(kin)
    items = named(row.support, known) or behind.items
    return replace(
        row.edit(),
        why=row.why or next((edit.why for edit in kin if edit.why), ""),
        source_type=_source(row, kin, side),
        support=items,
        support_count=_count(row, inputs) or len(items) or behind.count,
        merge_level=max((edit.merge_level for edit in kin if edit.merge_level is not None), default=None),
    )


def _kin(row: EditRow, inputs: Sequence[Edit]) -> tuple[Edit, ...]:
    """The inputs an output came from: those with its content, else those with its target.

    New wording without a target has no kin: support that cannot be traced is not invented.
    """
    content, target = _bare(row.content), _bare(row.target)
    same_content = tuple(e for e in inputs if _bare(e.content) == content and (content or _bare(e.target) == target))
    return same_content or tuple(e for e in inputs if target and _bare(e.target) == target)


def _count(row: EditRow, inputs: Sequence[Edit]) -> int:
    """The editor's own count, if it is one: at least 1, at most everything that came in."""
    total = sum(edit.support_count or len(edit.support) for edit in inputs)
    return max(0, min(row.support_count or 0, total))


def _source(row: EditRow, kin: Sequence[Edit], side: Literal["failure", "success", "final"]) -> str | None:
    if side != "final":
        return side
    if row.source_type in ("failure", "success"):
        return row.source_type
    sources = {edit.source_type for edit in kin}
    return "failure" if "failure" in sources else next(iter(sources), None)


def _bare(text: str) -> str:
    return " ".join(text.split())
