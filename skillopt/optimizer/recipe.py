"""Optimizers as sentences: merge what the analysts found, refine the patch, make a candidate of it.

Another way of updating the document is another `Update`, not another branch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from skillopt.gradient.aggregate import Merge
from skillopt.gradient.desk import Desk
from skillopt.journal.context import Context
from skillopt.optimizer.candidate import Candidate
from skillopt.optimizer.schedules import Schedule
from skillopt.optimizer.select import select
from skillopt.optimizer.transforms import Transform, chain, drop_duplicates, protect
from skillopt.types import Patch, Reflection

Aggregate = Callable[[Context, Sequence[Reflection]], Awaitable[Patch]]
Update = Callable[[Context, Patch], Awaitable[Candidate]]
Optimizer = Callable[[Context, Sequence[Reflection]], Awaitable[Candidate]]


def patch_recipe(desk: Desk, *, merge_batch_size: int, schedule: Schedule | None) -> Optimizer:
    """Merge, drop duplicates, protect the regions, select within the budget, and apply."""
    return sentence(
        Merge(desk, merge_batch_size),
        chain(drop_duplicates(), protect(), select(desk, schedule)),
        apply_edits(desk),
    )


def sentence(aggregate: Aggregate, refine: Transform, update: Update) -> Optimizer:
    async def optimizer(context: Context, reflections: Sequence[Reflection]) -> Candidate:
        patch = await aggregate(context, reflections)
        return await update(context, await refine(context, patch))

    return optimizer


def apply_edits(desk: Desk) -> Update:
    """Apply the patch to the current document. It is pure and cheap, so only its beginning is recorded."""

    async def applied(context: Context, patch: Patch) -> Candidate:
        await desk.begin(context.at, "update")
        result = context.skill.apply(patch)
        return Candidate(result.skill, context.skill, patch, result.reports, f"step_{context.step:04d}")

    return applied
