"""Selection: the learning rate at work. The model ranks only when there is more than the step may apply."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from skillopt.gradient.desk import MAX_TOKENS, Desk
from skillopt.gradient.mode import PATCH, Mode
from skillopt.gradient.page import page
from skillopt.journal.context import Context
from skillopt.journal.events import Selected
from skillopt.optimizer.listing import numbered
from skillopt.optimizer.rate import Limit, Rate
from skillopt.optimizer.schemas import Ranking
from skillopt.optimizer.transforms import Transform
from skillopt.types import Patch

log = logging.getLogger(__name__)


def select(desk: Desk, limit: Limit, mode: Mode = PATCH) -> Transform:
    """Rank above the limit, then clip to it. Without a limit everything passes."""

    async def selected(context: Context, patch: Patch) -> Patch:
        await desk.begin(context.at, "select")
        rate = await limit(context, patch)
        body = await desk.once(f"{context.at}/select", partial(_choose, desk, mode, context, patch, rate))
        return body.patch

    return selected


async def _choose(desk: Desk, mode: Mode, context: Context, patch: Patch, rate: Rate) -> Selected:
    budget = rate.most
    whole = Selected(at=context.at, pool=patch, patch=patch, budget=budget, mode=rate.mode)
    if budget is None or len(patch.edits) <= budget:
        return whole
    if budget == 0:
        return whole.model_copy(update={"patch": replace(patch, edits=())})
    return await _ranked(desk, mode, context, whole, budget)


async def _ranked(desk: Desk, mode: Mode, context: Context, whole: Selected, budget: int) -> Selected:
    pool = whole.pool
    prompt = desk.prompts.render(
        f"ranking{mode.suffix}",
        **page(context),
        budget=budget,
        unit=mode.unit,
        count=len(pool.edits),
        edits=numbered(pool.edits),
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
