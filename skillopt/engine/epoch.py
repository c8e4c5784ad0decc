"""Work at an epoch's end: the slow update and the meta skill, both from one longitudinal comparison.

The same training items are attempted with the skill the epoch opened with and the one it ended with. Identical skills
are not compared: their difference would be noise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.engine.measure import decide
from skillopt.engine.run import EpochEnd, Run, recordable
from skillopt.evaluation.gates import Gate
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
    """Two consecutive skills on the same items; `pairs` are those the policy keeps of `all_pairs`."""

    pairs: tuple[Pair, ...]
    all_pairs: tuple[Pair, ...]
    prev: dict[str, Rollout]
    curr: dict[str, Rollout]


async def slow_update(run: Run, end: EpochEnd, *, gate: Gate | None = None) -> Decision | None:
    """Write guidance into its protected region; forced, or with a gate of its own judged like any other change."""
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
        all_pairs=comparison.all_pairs if len(comparison.all_pairs) > len(comparison.pairs) else (),
        tokens=run.config.gradient.trajectory_tokens,
    )
    if not note.content:
        return None
    skill = end.state.current.with_region("slow_update", note.content)
    candidate = Candidate.whole(skill, end.state.current, f"slow_update_epoch_{end.epoch:02d}")
    if gate is not None:
        return await decide(replace(run, gate=gate), end.state, candidate, at=at)
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
    """Compare a sample; where only changed tasks are wanted, go on in rounds of its size until there are enough.

    Content keys make the second caller's rollouts free. The order is seeded and rounds are whole, so what is compared
    depends on results alone, never on timing.
    """
    settings = run.config.optimizer
    wanted, policy = settings.slow_update_samples, settings.longitudinal_pair_policy
    order = _shuffled(run.splits.train, run.config.train.seed, end.epoch)
    before: dict[str, Rollout] = {}
    after: dict[str, Rollout] = {}
    pairs: tuple[Pair, ...] = ()
    for start in range(0, len(order), wanted):
        items = order[start : start + wanted]
        prev, curr = await _both_sides(run, end, items)
        before |= prev
        after |= curr
        pairs += compare(items, prev, curr)
        if policy != "changed" or len(keep(pairs, policy)) >= wanted:
            break
    return Comparison(keep(pairs, policy)[:wanted], pairs, before, after)


async def _both_sides(run: Run, end: EpochEnd, items: Sequence[Item]) -> tuple[dict[str, Rollout], dict[str, Rollout]]:
    """The same items under both skills, all of them under way together."""
    at, draw = f"slow/e{end.epoch:02d}", f"slow-e{end.epoch:02d}"
    await run.mark(at, "compare", 2 * len(items))
    prev, curr = await together(
        run.rollouts.run(skill, items, Place(at, "slow", draw)) for skill in (end.opening, end.state.current)
    )
    return {r.item: r for r in prev}, {r.item: r for r in curr}


def _nothing_to_compare(end: EpochEnd) -> str | None:
    if end.epoch == 1:
        return "first epoch: there is no earlier epoch to compare with"
    if end.opening.digest == end.state.current.digest:
        return "the skill did not change in this epoch"
    return None


def _shuffled(items: tuple[Item, ...], seed: int, epoch: int) -> tuple[Item, ...]:
    shuffled = list(items)
    random.Random(seed + epoch * 2000).shuffle(shuffled)
    return tuple(shuffled)
