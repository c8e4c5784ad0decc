"""Cutting a stream of outcomes into minibatches along its order, so that the cut does not depend on timing.

Failures and successes are collected apart; a minibatch is complete as soon as its last item is known.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass, replace

from skillopt.types import Rollout, Source


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Rollouts of one kind for one analyst; `index` counts from 0 within the kind."""

    source: Source
    index: int
    rollouts: tuple[Rollout, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(rollout.item for rollout in self.rollouts)

    def add(self, rollout: Rollout) -> Minibatch:
        return replace(self, rollouts=(*self.rollouts, rollout))

    def next(self) -> Minibatch:
        return Minibatch(self.source, self.index + 1, ())


def source_of(rollout: Rollout) -> Source | None:
    """Which pile a rollout belongs to; one without a score is missing data and belongs to none."""
    if rollout.score is None:
        return None
    return "success" if rollout.score.passed else "failure"


async def minibatches(rollouts: AsyncIterable[Rollout], size: int, *, failure_only: bool) -> AsyncIterator[Minibatch]:
    """Minibatches of `size` as they fill up; the incomplete ones at the end, failures first."""
    filling: dict[Source, Minibatch] = {"failure": Minibatch("failure", 0, ())}
    if not failure_only:
        filling["success"] = Minibatch("success", 0, ())
    async for rollout in rollouts:
        source = source_of(rollout)
        if source not in filling:
            continue
        filling[source] = filling[source].add(rollout)
        if len(filling[source].rollouts) >= size:
            yield filling[source]
            filling[source] = filling[source].next()
    for rest in filling.values():
        if rest.rollouts:
            yield rest
