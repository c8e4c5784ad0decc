"""An adapter's own `reflect` in the place of our analysts: its patches are recorded and pooled like theirs.

It is one call for a whole step, because it may want to compare failures with successes. Inside it, `super().reflect`
asks the run's own analysts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from pydantic import ValidationError

from skillopt.envs.base import Benchmark
from skillopt.envs.bridge import Bridge
from skillopt.envs.bridging.reflecting import Asked, Reflecting
from skillopt.gradient.desk import Desk
from skillopt.gradient.minibatch import Minibatch, source_of
from skillopt.gradient.reflect import Reflect, read_analysis
from skillopt.gradient.schemas import FailureAnalysis, SuccessAnalysis
from skillopt.journal.context import Context
from skillopt.journal.events import Body, Reflected
from skillopt.journal.records import minibatch_record
from skillopt.optimizer.memory import render_memory
from skillopt.types import JSON, Item, Reflection, Rollout, Source, Usage

B = TypeVar("B", bound=Body)


@dataclass(frozen=True, slots=True)
class AdapterReflect:
    """`analysts` is what `super().reflect` means; `items` are the training items by id."""

    desk: Desk
    reflecting: Reflecting
    analysts: Reflect
    items: Mapping[str, Item]
    seed: int

    async def __call__(self, context: Context, rollouts: AsyncIterable[Rollout]) -> tuple[Reflection, ...]:
        seen = tuple([r async for r in rollouts if r.score is not None])
        if not seen:
            return ()
        await self.desk.begin(context.at, "reflect")
        answer = _Answer(partial(self._asked, context, seen))
        first = await self._recorded(context, answer, 0)
        rest = [await self._recorded(context, answer, index) for index in range(1, first.of)]
        return tuple(body.reflection for body in (first, *rest))

    async def _recorded(self, context: Context, answer: _Answer, index: int) -> Reflected:
        async def effect() -> Reflected:
            found = await answer.reflections()
            nothing = Reflection("failure", ())
            reflection = found[index] if index < len(found) else nothing
            return Reflected(at=context.at, index=index, reflection=reflection, of=max(1, len(found)))

        return await self.desk.once(f"{context.at}/reflect/own/{index}", effect)

    async def _asked(self, context: Context, rollouts: Sequence[Rollout]) -> tuple[Reflection, ...]:
        loop, spent = asyncio.get_running_loop(), [Usage()]

        def shared(results: Sequence[Mapping[str, JSON]]) -> list[dict[str, JSON]]:
            wanted = {str(row["id"]) for row in results}
            chosen = [rollout for rollout in rollouts if rollout.item in wanted]
            found = asyncio.run_coroutine_threadsafe(self._analysed(context, chosen), loop).result()
            spent.extend(reflection.usage for reflection in found)
            return [minibatch_record(reflection) for reflection in found if reflection.lost is None]

        memory = render_memory(context.memory)
        asked = Asked(
            context.at, context.skill.text, self.seed + context.step, memory, context.state.meta_skill, shared
        )
        rows, usage = await self.reflecting(asked, rollouts, self.items)
        read = [_reflection(row, index, rollouts) for index, row in enumerate(rows)] or [Reflection("failure", ())]
        # One call, one bill: it stands on the first.
        return (replace(read[0], usage=sum(spent, usage)), *read[1:])

    async def _analysed(self, context: Context, rollouts: Sequence[Rollout]) -> tuple[Reflection, ...]:
        """The run's analysts without a record of their own: what the adapter makes of it is what is recorded."""
        unrecorded = replace(self.analysts, desk=replace(self.desk, once=_unrecorded))
        return await unrecorded(context, _stream(rollouts))


def adapter_analysts(
    benchmark: Benchmark, analysts: Reflect, items: Iterable[Item], seed: int
) -> AdapterReflect | None:
    """The analysts of an adapter that overrides `reflect`; None for every other benchmark."""
    reflecting = benchmark.reflecting if isinstance(benchmark, Bridge) else None
    if reflecting is None:
        return None
    return AdapterReflect(analysts.desk, reflecting, analysts, {item.id: item for item in items}, seed)


@dataclass(slots=True)
class _Answer:
    """The adapter's answer, asked for when the first record is missing and then kept."""

    ask: Callable[[], Awaitable[tuple[Reflection, ...]]]
    _found: tuple[Reflection, ...] | None = field(default=None)

    async def reflections(self) -> tuple[Reflection, ...]:
        if self._found is None:
            self._found = await self.ask()
        return self._found


def _reflection(row: Mapping[str, JSON], index: int, rollouts: Sequence[Rollout]) -> Reflection:
    """A returned patch as a reflection on the items it names, else on all of its kind."""
    source: Source = "success" if row.get("source_type") == "success" else "failure"
    named = {str(id) for id in row.get("items") or ()}
    group = tuple(r for r in rollouts if source_of(r) == source and (not named or r.item in named))
    schema = SuccessAnalysis if source == "success" else FailureAnalysis
    batch = Minibatch(source, index, group)
    try:
        analysis = schema.model_validate(dict(row))
    except ValidationError as error:
        return Reflection(source, batch.items, lost=f"reflect returned no patch: {error.errors()[0]['msg']}")
    return read_analysis(analysis, batch, None, with_notes=True)


async def _stream(rollouts: Sequence[Rollout]) -> AsyncIterable[Rollout]:
    for rollout in rollouts:
        yield rollout


async def _unrecorded(key: str, effect: Callable[[], Awaitable[B]]) -> B:
    return await effect()
