"""Optimizers as sentences: merge what the analysts found, refine the patch, make a candidate of it.

Another way of updating the document is another sentence, not another branch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from skillopt.gradient.aggregate import Merge
from skillopt.gradient.desk import Desk
from skillopt.gradient.mode import FULL_REWRITE, PATCH, REWRITE, REWRITE_TOKENS
from skillopt.journal.context import Context
from skillopt.optimizer.appendix import remind
from skillopt.optimizer.candidate import Candidate
from skillopt.optimizer.rate import Limit, times, unlimited
from skillopt.optimizer.rewrite import rewrite_document, take_document
from skillopt.optimizer.select import select
from skillopt.optimizer.transforms import Transform, chain, drop_duplicates, drop_rejected, protect
from skillopt.types import Patch, Reflection

Aggregate = Callable[[Context, Sequence[Reflection]], Awaitable[Patch]]
Update = Callable[[Context, Patch], Awaitable[Candidate]]
Optimizer = Callable[[Context, Sequence[Reflection]], Awaitable[Candidate]]


@dataclass(frozen=True, slots=True)
class Settings:
    """`notes_threshold` is the number of reminders above which the appendix is shortened (0 = never)."""

    merge_batch_size: int = 8
    limit: Limit = field(default_factory=unlimited)
    rewrite_tokens: int = REWRITE_TOKENS
    notes_threshold: int = 0
    candidates: int = 1
    """Patches that a step makes of one pool, each within the limit."""


Recipe = Callable[[Desk, Settings], Optimizer]


def patch_recipe(desk: Desk, settings: Settings) -> Optimizer:
    """Merge, drop duplicates and what was rejected before, protect the regions, select within the budget, apply."""
    return sentence(
        Merge(desk, settings.merge_batch_size, PATCH),
        chain(drop_duplicates(), protect(), drop_rejected(), select(desk, _for_all(settings), PATCH)),
        dealing(settings.candidates, reminding(desk, settings, partial(apply_edits, desk))),
    )


def rewrite_recipe(desk: Desk, settings: Settings) -> Optimizer:
    """Merge suggestions, select within the budget, and rewrite the document from them."""
    return sentence(
        Merge(desk, settings.merge_batch_size, REWRITE),
        chain(drop_duplicates(), drop_rejected(), select(desk, settings.limit, REWRITE)),
        reminding(desk, settings, partial(rewrite_document, desk, max_tokens=settings.rewrite_tokens)),
    )


def full_rewrite_recipe(desk: Desk, settings: Settings) -> Optimizer:
    """Merge whole documents into one and take it; there is nothing to rank, so there is no learning rate."""
    return sentence(
        Merge(desk, settings.merge_batch_size, FULL_REWRITE),
        chain(drop_duplicates(), drop_rejected(), select(desk, unlimited(), FULL_REWRITE)),
        partial(take_document, desk),
    )


def sentence(aggregate: Aggregate, refine: Transform, update: Update) -> Optimizer:
    async def optimizer(context: Context, reflections: Sequence[Reflection]) -> Candidate:
        patch = await aggregate(context, reflections)
        candidate = await update(context, await refine(context, patch))
        return replace(candidate, proposed=len(patch.edits))

    return optimizer


def dealing(patches: int, update: Update) -> Update:
    """The patch dealt out like cards into several, each a candidate of its own; reminders go with the first."""
    if patches < 2:
        return update

    async def dealt(context: Context, patch: Patch) -> Candidate:
        first, *others = [patch.edits[place::patches] for place in range(patches)]
        candidate = await update(context, replace(patch, edits=first))
        rivals = [await update(context, replace(patch, edits=edits, notes=())) for edits in others if edits]
        return replace(candidate, rivals=tuple(rivals))

    return dealt


def _for_all(settings: Settings) -> Limit:
    return settings.limit if settings.candidates < 2 else times(settings.limit, settings.candidates)


def reminding(desk: Desk, settings: Settings, update: Update) -> Update:
    """An update whose candidates also carry the patch's reminders."""

    async def reminded(context: Context, patch: Patch) -> Candidate:
        candidate = await update(context, patch)
        return await remind(desk, context, patch, candidate, threshold=settings.notes_threshold)

    return reminded


async def apply_edits(desk: Desk, context: Context, patch: Patch) -> Candidate:
    """Apply the patch to the current document. It is pure and cheap, so only its beginning is recorded."""
    await desk.begin(context.at, "update")
    result = context.skill.apply(patch)
    return Candidate(result.skill, context.skill, patch, result.reports, f"step_{context.step:04d}")
