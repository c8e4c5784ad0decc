"""Reflection: one analyst for each minibatch of rollouts, started while later rollouts are still under way.

What a model says about its own sample size is not believed: support comes from the group it was really given.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from skillopt.gradient.desk import Desk
from skillopt.gradient.minibatch import Minibatch, minibatches
from skillopt.gradient.mode import PATCH, Mode
from skillopt.gradient.page import page
from skillopt.gradient.schemas import (
    Analysis,
    EditRow,
    FailureAnalysis,
    FailureRow,
    FreeFailureAnalysis,
    FreeSuccessAnalysis,
    SuccessAnalysis,
)
from skillopt.gradient.support import named
from skillopt.gradient.trajectory import MINIMUM_TOKENS, render
from skillopt.journal.context import Context
from skillopt.journal.events import Reflected
from skillopt.optimizer.memory import render_memory
from skillopt.optimizer.schedules import UNBOUNDED, Schedule
from skillopt.prompts import Prompt
from skillopt.together import Work, as_they_come
from skillopt.types import Edit, Patch, Pattern, Reflection, Rollout, Source

log = logging.getLogger(__name__)

_SENTENCE = 40
"""Characters from which a text is not the same by chance."""


@dataclass(frozen=True, slots=True)
class ReflectSettings:
    """`schedule` gives an analyst the budget of its step (None = no limit); `tokens` bounds the trajectories shown.

    `notes_from` names the analysts who may write reminders for the appendix (skill-aware reflection); `reference` gives
    the hidden reference of an item by its id.
    """

    minibatch_size: int = 8
    failure_only: bool = False
    schedule: Schedule | None = None
    tokens: int = 60_000
    mode: Mode = PATCH
    notes_from: tuple[Source, ...] = ()
    reference: Callable[[str], str] | None = None

    def budget(self, context: Context) -> int | None:
        if self.mode.single:
            return 1
        limit = UNBOUNDED if self.schedule is None else self.schedule(context.step)
        return limit if limit < UNBOUNDED else None


@dataclass(frozen=True, slots=True)
class _Role:
    prompt: str
    word: str
    schema: type[FailureAnalysis] | type[SuccessAnalysis]
    free: type[FailureAnalysis] | type[SuccessAnalysis]


_FAILURE = _Role("analyst_error", "fail", FailureAnalysis, FreeFailureAnalysis)
_SUCCESS = _Role("analyst_success", "succ", SuccessAnalysis, FreeSuccessAnalysis)


@dataclass(frozen=True, slots=True)
class Reflect:
    desk: Desk
    settings: ReflectSettings = ReflectSettings()

    async def __call__(self, context: Context, rollouts: AsyncIterable[Rollout]) -> tuple[Reflection, ...]:
        """Reflections on failures, then on successes, each in minibatch order whatever finished first."""
        done = await as_they_come(self._analyses(context, rollouts))
        return tuple(body.reflection for body in sorted(done, key=lambda b: (b.reflection.source, b.index)))

    async def _analyses(self, context: Context, rollouts: AsyncIterable[Rollout]) -> AsyncIterator[Work[Reflected]]:
        begun = False
        size, failure_only = self.settings.minibatch_size, self.settings.failure_only
        async for batch in minibatches(rollouts, size, failure_only=failure_only):
            if not begun:
                await self.desk.begin(context.at, "reflect")
                begun = True
            yield self._recorded(context, batch)

    async def _recorded(self, context: Context, batch: Minibatch) -> Reflected:
        key = f"{context.at}/reflect/{_role(batch.source).word}/{batch.index}"
        return await self.desk.once(key, partial(self._analyse, context, batch))

    async def _analyse(self, context: Context, batch: Minibatch) -> Reflected:
        role, mode, prompt = _role(batch.source), self.settings.mode, self._prompt(context, batch)
        schema = role.schema if mode.shaped else role.free
        answer = await self.desk.ask(prompt, schema, stage="analyst", max_tokens=mode.max_tokens)
        if answer.value is None:
            reason = answer.lost or "the analyst gave no usable answer"
            log.warning("%s: %s analyst %d is lost: %s", context.at, batch.source, batch.index, reason)
            reflection = Reflection(batch.source, batch.items, lost=reason)
        else:
            with_notes = batch.source in self.settings.notes_from
            found = read_analysis(answer.value, batch, self.settings.budget(context), with_notes=with_notes)
            reflection = _without_copies(found, prompt.system)
        return Reflected(at=context.at, index=batch.index, reflection=replace(reflection, usage=answer.usage))

    def _prompt(self, context: Context, batch: Minibatch) -> Prompt:
        settings = self.settings
        tokens = max(settings.tokens, MINIMUM_TOKENS * len(batch.rollouts))
        return self.desk.prompts.render(
            f"{_role(batch.source).prompt}{settings.mode.suffix}",
            **page(context),
            previous_steps=render_memory(context.memory),
            budget=settings.budget(context),
            unit=settings.mode.unit,
            skill_aware=batch.source in settings.notes_from,
            show_reference=settings.reference is not None,
            count=len(batch.rollouts),
            trajectories=render(batch.rollouts, tokens, settings.reference),
        )


def read_analysis(analysis: Analysis, batch: Minibatch, budget: int | None, *, with_notes: bool = False) -> Reflection:
    """An answer made into a reflection: cut to the budget, with the support and the patterns of its own group."""
    rows = [row for row in analysis.patch.edits if not row.blank][:budget]
    edits = tuple(_edit(row, batch) for row in rows)
    return Reflection(
        source=batch.source,
        items=batch.items,
        patch=Patch(edits, analysis.patch.reasoning, notes=analysis.appendix_notes if with_notes else ()),
        patterns=_patterns(analysis, batch.items),
    )


def _without_copies(reflection: Reflection, instructions: str) -> Reflection:
    """A small model may copy the example that shows the form of an answer; it is no finding of this run."""
    edits = reflection.patch.edits
    kept = tuple(e for e in edits if len(e.content) < _SENTENCE or e.content.strip() not in instructions)
    return replace(reflection, patch=replace(reflection.patch, edits=kept))


def _role(source: Source) -> _Role:
    return _FAILURE if source == "failure" else _SUCCESS


def _edit(row: EditRow, batch: Minibatch) -> Edit:
    support = named(row.support, batch.items) or batch.items
    return replace(row.edit(), source_type=batch.source, support=support, support_count=len(support))


def _patterns(analysis: Analysis, items: Sequence[str]) -> tuple[Pattern, ...]:
    if isinstance(analysis, FailureAnalysis):
        return tuple(_pattern(row, items) for row in analysis.failure_summary if row.failure_type or row.description)
    if isinstance(analysis, SuccessAnalysis):
        return tuple(Pattern(text, "", len(items), tuple(items)) for text in analysis.success_patterns)
    return ()


def _pattern(row: FailureRow, items: Sequence[str]) -> Pattern:
    shown = named(row.items, items)
    count = len(shown) or min(max(row.count or len(items), 1), len(items))
    return Pattern(row.failure_type or "unnamed", row.description, count, shown or tuple(items))
