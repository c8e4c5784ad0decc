"""Selection: the learning rate at work. The model ranks only when there is more than the step may apply."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from skillopt.gradient.desk import MAX_TOKENS, Desk
from skillopt.gradient.page import page
from skillopt.journal.context import Context
from skillopt.journal.events import Selected
from skillopt.optimizer.schedules import Schedule
from skillopt.optimizer.schemas import Ranking
from skillopt.optimizer.transforms import Transform
from skillopt.types import Edit, Patch

log = logging.getLogger(__name__)


def select(desk: Desk, schedule: Schedule | None) -> Transform:
    """Rank above the budget, then clip to it. Without a schedule there is no limit and everything passes."""

    async def selected(context: Context, patch: Patch) -> Patch:
        await desk.begin(context.at, "select")
        budget = None if schedule is None else max(0, schedule(context.step))
        body = await desk.once(f"{context.at}/select", partial(_choose, desk, context, patch, budget))
        return body.patch

    return selected


async def _choose(desk: Desk, context: Context, patch: Patch, budget: int | None) -> Selected:
    whole = Selected(at=context.at, pool=patch, patch=patch, budget=budget, mode="none" if budget is None else "fixed")
    if budget is None or len(patch.edits) <= budget:
        return whole
    if budget == 0:
        return whole.model_copy(update={"patch": replace(patch, edits=())})
    return await _ranked(desk, context, whole, budget)


async def _ranked(desk: Desk, context: Context, whole: Selected, budget: int) -> Selected:
    pool = whole.pool
    prompt = desk.prompts.render(
        "ranking", **page(context), budget=budget, count=len(pool.edits), edits=_numbered(pool.edits)
    )
    answer = await desk.ask(prompt, Ranking, stage="ranking", max_tokens=MAX_TOKENS)
    chosen = _valid(answer.value.selected_indices, len(pool.edits))[:budget] if answer.value else ()
    if answer.value and chosen:
        patch = replace(
            pool,
            edits=tuple(pool.edits[index] for index in chosen),
            reasoning=f"{pool.reasoning} [ranked: {len(chosen)} of {len(pool.edits)} edits]".strip(),
            ranking_details={"reasoning": answer.value.reasoning, "selected_indices": list(chosen)},
        )
        return whole.model_copy(update={"patch": patch, "usage": answer.usage})
    reason = answer.lost or "the ranking named no edit that exists"
    log.warning("%s: ranking is replaced by support: %s", context.at, reason)
    patch = replace(
        pool,
        edits=tuple(sorted(pool.edits, key=lambda edit: -(edit.support_count or 0))[:budget]),
        reasoning=f"{pool.reasoning} [best supported: {budget} of {len(pool.edits)} edits]".strip(),
    )
    return whole.model_copy(update={"patch": patch, "fallback": reason, "usage": answer.usage})


def _valid(indices: Sequence[int], size: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(index for index in indices if 0 <= index < size))


def _numbered(edits: Sequence[Edit]) -> str:
    return "\n\n".join(f"[{index}] {_described(edit)}" for index, edit in enumerate(edits))


def _described(edit: Edit) -> str:
    support = "unknown" if edit.support_count is None else str(edit.support_count)
    lines = (
        f"op: {edit.op}; from: {edit.source_type or 'unknown'}; support: {support}",
        f"target: {edit.target}" if edit.target else "",
        f"content: {edit.content}" if edit.content else "",
        f"why: {edit.why}" if edit.why else "",
    )
    return "\n".join(line for line in lines if line)
