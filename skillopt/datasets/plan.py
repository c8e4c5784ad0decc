"""Which items each step of an epoch trains on: a pure function of the seed, so a run can be replayed and resumed.

An epoch is one pass without replacement. Only when micro-batches outnumber the items is a batch drawn anew.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from skillopt.types import Item

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """The rows of one micro-batch and the seed that names it."""

    seed: int
    rows: tuple[T, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One micro-batch of a step."""

    id: str
    seed: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step trains on. `step` counts from 1 over the whole run, `step_in_epoch` from 0 within the epoch."""

    id: str
    epoch: int
    step: int
    step_in_epoch: int
    parts: tuple[Part, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for part in self.parts for item in part.items)


def steps_per_epoch(n: int, batch_size: int, accumulation: int) -> int:
    """How many steps see all `n` items once; the last one may be short."""
    return -(-n // (batch_size * accumulation))


def epoch_plan(
    items: Sequence[Item], *, epoch: int, batch_size: int, accumulation: int, seed: int
) -> tuple[Batch, ...]:
    """The batches of an epoch (counted from 1)."""
    steps = steps_per_epoch(len(items), batch_size, accumulation)
    slices = epoch_slices(items, epoch=epoch, batches=steps * accumulation, batch_size=batch_size, seed=seed)
    return tuple(
        _batch(slices[k * accumulation : (k + 1) * accumulation], epoch=epoch, k=k, steps=steps) for k in range(steps)
    )


def epoch_slices(rows: Sequence[T], *, epoch: int, batches: int, batch_size: int, seed: int) -> tuple[Slice[T], ...]:
    """Consecutive slices of the shuffled rows; a slice that would be empty is drawn from all rows instead."""
    base = seed + epoch * 1000
    order = shuffled(rows, base)
    slices: list[Slice[T]] = []
    for index in range(batches):
        name = base + index + 1
        cut = order[index * batch_size : (index + 1) * batch_size] or shuffled(rows, name)[:batch_size]
        slices.append(Slice(name, cut))
    return tuple(slices)


def shuffled(rows: Sequence[T], seed: int) -> tuple[T, ...]:
    order = list(rows)
    random.Random(seed).shuffle(order)
    return tuple(order)


def _batch(slices: Sequence[Slice[Item]], *, epoch: int, k: int, steps: int) -> Batch:
    name = f"e{epoch:02d}s{k + 1:02d}"
    parts = tuple(
        Part(name if len(slices) == 1 else f"{name}b{b}", piece.seed, piece.rows) for b, piece in enumerate(slices)
    )
    return Batch(name, epoch, (epoch - 1) * steps + k + 1, k, parts)
