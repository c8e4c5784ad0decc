"""`both`: model-written and mined proposals, one kind a step.

Apart, because a candidate is judged whole: a poor rule must not take a good example down with it. The turns go to those
whose proposals are accepted, in proportion to how often they are, so that the weaker kind costs few steps: half of all
steps spent on a model that writes poor rules would leave both below the miner alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass

from skillopt.gradient.miner import PATTERN, Analysts
from skillopt.journal.context import Context
from skillopt.types import Reflection, Rollout, StepDigest


@dataclass(frozen=True, slots=True)
class Record:
    """How often one kind had its turn, and how often the gate took what it proposed."""

    turns: int = 0
    taken: int = 0

    def beats(self, other: Record) -> bool:
        """By share of accepted turns, each counted with one accepted turn to begin with; a tie counts as well."""
        return (self.taken + 1) * (other.turns + 1) >= (other.taken + 1) * (self.turns + 1)


@dataclass(frozen=True, slots=True)
class InTurn:
    """The miner begins. Who has nothing to propose leaves the step to the other."""

    mined: Analysts
    written: Analysts

    async def __call__(self, context: Context, rollouts: AsyncIterable[Rollout]) -> tuple[Reflection, ...]:
        mined, written = records(context.state.memory)
        order = (self.mined, self.written) if mined.beats(written) else (self.written, self.mined)
        seen = [rollout async for rollout in rollouts]
        found = await order[0](context, _replay(seen))
        return found if any(r.patch.edits for r in found) else (*found, *await order[1](context, _replay(seen)))


def records(memory: Sequence[StepDigest]) -> tuple[Record, Record]:
    """The record of the miner and that of the model, from what the steps left behind."""
    by_miner = [entry for entry in memory if any(pattern.name == PATTERN for pattern in entry.patterns)]
    by_model = [entry for entry in memory if entry not in by_miner]
    return _record(by_miner), _record(by_model)


def _record(entries: Sequence[StepDigest]) -> Record:
    return Record(len(entries), sum(map(_helped, entries)))


def _helped(entry: StepDigest) -> bool:
    """Accepted by the gate; where the gate is off, better than before."""
    if entry.action != "force_accept":
        return entry.action.startswith("accept")
    before, after = entry.score_before, entry.score_after
    return before is not None and after is not None and after > before


async def _replay(rollouts: list[Rollout]) -> AsyncIterable[Rollout]:
    for rollout in rollouts:
        yield rollout
