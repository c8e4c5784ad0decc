"""Patch to patch: each transform does one thing, and `chain` makes an optimizer's sentence of them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from skillopt.gradient.support import united
from skillopt.journal.context import Context
from skillopt.skill.regions import has_marker
from skillopt.types import Edit, Patch

log = logging.getLogger(__name__)

Signature = tuple[str, str, str]
Transform = Callable[[Context, Patch], Awaitable[Patch]]


def chain(*transforms: Transform) -> Transform:
    """One transform after the other; an empty chain changes nothing."""

    async def chained(context: Context, patch: Patch) -> Patch:
        for transform in transforms:
            patch = await transform(context, patch)
        return patch

    return chained


def drop_duplicates() -> Transform:
    """Keep the first of equal edits; it speaks for the support of all of them."""

    async def dropped(context: Context, patch: Patch) -> Patch:
        alike: dict[Signature, list[Edit]] = {}
        for edit in patch.edits:
            alike.setdefault(_signature(edit), []).append(edit)
        return replace(patch, edits=tuple(_spokesman(edits) for edits in alike.values()))

    return dropped


def drop_rejected() -> Transform:
    """Leave out what was tried on this very document and rejected: a greedy model proposes it again and again.

    What was rejected together may still help apart, so only a whole set that is back is left out, and any edit may be
    tried again once the document has changed, or once it is forgotten (`memory_scope`). Recorded decisions alone tell,
    so a resumed run does the same.
    """

    async def dropped(context: Context, patch: Patch) -> Patch:
        proposed = {_signature(edit) for edit in patch.edits} | {("note", "", note.strip()) for note in patch.notes}
        stale = {each for tried in _rejected_here(context) if tried <= proposed for each in tried}
        kept = tuple(edit for edit in patch.edits if _signature(edit) not in stale)
        if len(kept) < len(patch.edits):
            log.info("%s: left out %d edit(s) that were rejected before", context.at, len(patch.edits) - len(kept))
        return replace(patch, edits=kept)

    return dropped


def _rejected_here(context: Context) -> list[frozenset[Signature]]:
    """The sets of edits that were rejected since the document last changed."""
    sets: list[frozenset[Signature]] = []
    for entry in reversed(context.memory):
        if entry.action.startswith(("accept", "force")):
            break
        tried = (entry.rejected, *entry.also_rejected)
        sets += [frozenset(_signature(edit) for edit in edits) for edits in tried]
    return sets


def _signature(edit: Edit) -> Signature:
    """What an edit does; its reasons and its support are no part of it."""
    return edit.op, edit.target.strip(), edit.content.strip()


def protect() -> Transform:
    """Drop edits that carry a region marker: they aim at, or forge, a part of the document that is not theirs."""

    async def protected(context: Context, patch: Patch) -> Patch:
        kept = tuple(edit for edit in patch.edits if not (has_marker(edit.target) or has_marker(edit.content)))
        if len(kept) < len(patch.edits):
            log.info("%s: dropped %d edit(s) with region markers", context.at, len(patch.edits) - len(kept))
        return replace(patch, edits=kept)

    return protected


def _spokesman(edits: list[Edit]) -> Edit:
    if len(edits) == 1:
        return edits[0]
    support = united(edits)
    return replace(edits[0], support=support.items, support_count=support.count)
