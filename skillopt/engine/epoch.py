"""Work at an epoch's end: the slow update and the meta skill, both from one longitudinal comparison.

The same training items are attempted with the skill the epoch opened with and the one it ended with. Identical skills
are not compared: their difference would be noise.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from skillopt.engine.measure import decide
from skillopt.engine.run import EpochEnd, Run, recordable
from skillopt.journal.events import Decided, MetaSkillWritten, Pair, SlowUpdated
from skillopt.optimizer.candidate import Candidate
from skillopt.optimizer.comparison import compare, keep
from skillopt.optimizer.meta_skill import write_memory
from skillopt.optimizer.slow_update import write_guidance
from skillopt.rollout.runner import Place
from skillopt.together import together
from skillopt.types import Decision, Item, Rollout


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two consecutive skills on the same items."""

    pairs: tuple[Pair, ...]
    prev: dict[str, Rollout]
    curr: dict[str, Rollout]


async def slow_update(run: Run, end: EpochEnd) -> Decision | None:
    """Write guidance into its protected region; forced, or gated like any other change."""
    at = f"slow/e{end.epoch:02d}"
    if idle := _nothing_to_compare(end):
        await run.journal.once(f"{at}/guidance", recordable(SlowUpdated(epoch=end.epoch, content="", lost=idle)))
        return None
    comparison = await compared(run, end)
    note = await write_guidance(
        run.desk,
        epoch=end.epoch,
        prev_skill=end.opening,
        curr_skill=end.state.current,
        pairs=comparison.pairs,
        prev=comparison.prev,
        curr=comparison.curr,
        tokens=run.config.gradient.trajectory_tokens,
    )
    if not note.content:
        return None
    skill = end.state.current.with_region("slow_update", note.content)
    candidate = Candidate.whole(skill, end.state.current, f"slow_update_epoch_{end.epoch:02d}")
    if run.config.optimizer.slow_update_gate_with_selection:
        return await decide(run, end.state, candidate, at=at)
    return await _forced(run, end, candidate, at)


async def _forced(run: Run, end: EpochEnd, candidate: Candidate, at: str) -> Decision:
    """Changes the current skill, keeps the bar, and is measured before it can become best."""
    decision = Decision(
        at=at,
        action="force_accept",
        candidate=candidate.skill.text,
        parent=candidate.parent.digest,
        origin=candidate.origin,
        bar=end.state.bar,
        reason="slow updates are applied without a measurement (slow_update_gate_with_selection: false)",
    )
    return (await run.journal.once(f"{at}/decision", recordable(Decided(decision=decision)))).decision


async def meta_skill(run: Run, end: EpochEnd) -> MetaSkillWritten | None:
    """Memory for the optimizer's next epoch; nothing is written after the last one, where nobody would read it."""
    if end.epoch == run.config.train.num_epochs:
        return None
    if idle := _nothing_to_compare(end):
        body = MetaSkillWritten(epoch=end.epoch, content="", lost=idle)
        return await run.journal.once(f"meta/e{end.epoch:02d}", recordable(body))
    comparison = await compared(run, end)
    return await write_memory(
        run.desk,
        epoch=end.epoch,
        prev_skill=end.opening,
        curr_skill=end.state.current,
        previous=end.state.meta_skill,
        pairs=comparison.pairs,
        prev=comparison.prev,
        curr=comparison.curr,
        tokens=run.config.gradient.trajectory_tokens,
    )


async def compared(run: Run, end: EpochEnd) -> Comparison:
    """Both sides roll out together. Content keys make the second caller's rollouts free."""
    items = _sample(run.splits.train, run.config.optimizer.slow_update_samples, run.config.train.seed, end.epoch)
    draw = f"slow-e{end.epoch:02d}"
    at = f"slow/e{end.epoch:02d}"
    await run.mark(at, "compare", 2 * len(items))
    prev, curr = await together(
        run.rollouts.run(skill, items, Place(at, "slow", draw)) for skill in (end.opening, end.state.current)
    )
    before = {r.item: r for r in prev}
    after = {r.item: r for r in curr}
    pairs = compare(items, before, after)
    return Comparison(keep(pairs, run.config.optimizer.longitudinal_pair_policy), before, after)


def _nothing_to_compare(end: EpochEnd) -> str | None:
    if end.epoch == 1:
        return "first epoch: there is no earlier epoch to compare with"
    if end.opening.digest == end.state.current.digest:
        return "the skill did not change in this epoch"
    return None


def _sample(items: tuple[Item, ...], n: int, seed: int, epoch: int) -> tuple[Item, ...]:
    shuffled = list(items)
    random.Random(seed + epoch * 2000).shuffle(shuffled)
    return tuple(shuffled[:n])
