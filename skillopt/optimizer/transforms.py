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
        alike: dict[tuple[str, str, str], list[Edit]] = {}
        for edit in patch.edits:
            alike.setdefault((edit.op, edit.target.strip(), edit.content.strip()), []).append(edit)
        return replace(patch, edits=tuple(_spokesman(edits) for edits in alike.values()))

    return dropped


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
