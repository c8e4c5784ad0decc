"""Who decides how many proposals a step may apply: a schedule, the optimizer model, or nobody.

A limit is asked once a step, after the merge, so the one who decides sees what there is to apply.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from skillopt.gradient.desk import MAX_TOKENS, Desk
from skillopt.gradient.mode import PATCH, Mode
from skillopt.gradient.page import page
from skillopt.journal.context import Context
from skillopt.journal.events import RateDecided
from skillopt.optimizer.listing import numbered
from skillopt.optimizer.memory import render_memory
from skillopt.optimizer.schedules import Schedule
from skillopt.optimizer.schemas import ChosenRate
from skillopt.prompts import Prompt
from skillopt.types import Patch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rate:
    """The most a step may apply; None is no limit. `mode` is the word of `lr_control_mode`."""

    most: int | None
    mode: str


Limit = Callable[[Context, Patch], Awaitable[Rate]]


def unlimited() -> Limit:
    async def limit(context: Context, patch: Patch) -> Rate:
        return Rate(None, "none")

    return limit


def times(limit: Limit, patches: int) -> Limit:
    """The same limit for each of several patches."""

    async def multiplied(context: Context, patch: Patch) -> Rate:
        rate = await limit(context, patch)
        return rate if rate.most is None else Rate(rate.most * patches, rate.mode)

    return multiplied


def scheduled(schedule: Schedule) -> Limit:
    async def limit(context: Context, patch: Patch) -> Rate:
        return Rate(max(0, schedule(context.step)), "fixed")

    return limit


def decide_rate(desk: Desk, mode: Mode = PATCH) -> Limit:
    """The optimizer model decides from what was proposed. 0 means 0; where nothing was proposed nobody is asked."""

    async def limit(context: Context, patch: Patch) -> Rate:
        if not patch.edits:
            return Rate(0, "autonomous")
        body = await desk.once(f"{context.at}/rate", partial(_decide, desk, mode, context, patch))
        return Rate(body.learning_rate, "autonomous")

    return limit


async def _decide(desk: Desk, mode: Mode, context: Context, patch: Patch) -> RateDecided:
    prompt = _prompt(desk, mode, context, patch)
    answer = await desk.ask(prompt, ChosenRate, stage="lr_autonomous", max_tokens=MAX_TOKENS)
    blank = RateDecided(
        at=context.at,
        learning_rate=0,
        available_update_items=len(patch.edits),
        raw_response=answer.raw,
        usage=answer.usage,
    )
    if answer.value is None:
        reason = answer.lost or "no usable answer"
        log.warning("%s: no learning rate was decided, so nothing is applied: %s", context.at, reason)
        return blank.model_copy(update={"fallback": True, "error": reason})
    value = answer.value
    rate = max(0, min(value.number, len(patch.edits)))
    return blank.model_copy(
        update={
            "learning_rate": rate,
            "raw_learning_rate": value.learning_rate,
            "clamped": rate != value.number,
            "reasoning": value.reasoning,
            "confidence": value.confidence,
            "risk_notes": value.risk_notes,
        }
    )


def _prompt(desk: Desk, mode: Mode, context: Context, patch: Patch) -> Prompt:
    tried = context.tried
    scored = tried is not None and tried.hard is not None
    return desk.prompts.render(
        "lr_autonomous",
        **page(context),
        previous_steps=render_memory(context.memory),
        tried=tried.n if tried and scored else 0,
        hard=tried.hard if tried else None,
        soft=tried.soft if tried else None,
        unit=mode.unit,
        count=len(patch.edits),
        edits=numbered(patch.edits),
    )
