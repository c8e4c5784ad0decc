"""The training loop. There is no resume branch: replaying the journal *is* resuming."""

from __future__ import annotations

from functools import partial

from skillopt.datasets.plan import Batch
from skillopt.engine.evaluate import finish
from skillopt.engine.measure import gate, training_rollouts
from skillopt.engine.run import EpochEnd, Run
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.optimizer.memory import digest_of_step
from skillopt.together import together


async def train(run: Run) -> State:
    """Train one skill: measure the seed, then epochs of steps, then open the test split once."""
    seed = Candidate.whole(run.seed_skill, run.seed_skill, "initial_skill")
    state = await gate(run, State.start(run.seed_skill), seed, at="baseline")
    for epoch in range(1, run.config.train.num_epochs + 1):
        opening = state.current
        for batch in run.batches(epoch):
            if run.is_over(state):
                return await finish(run, state)
            state = await step(run, state, batch)
        state = await close_epoch(run, EpochEnd(epoch, opening, state))
    return await finish(run, state)


async def step(run: Run, state: State, batch: Batch) -> State:
    """rollout -> reflect -> aggregate -> select -> update -> gate."""
    context = run.context(state, batch)
    rollouts = await training_rollouts(run, state.current, batch)
    reflections = await run.reflect(context, rollouts)
    candidate = await run.optimizer(context.after(rollouts.seen), reflections)
    remember = partial(digest_of_step, context, rollouts=rollouts.seen, reflections=reflections)
    return await gate(run, state, candidate, at=batch.id, remember=remember, tried=rollouts.seen)


async def close_epoch(run: Run, end: EpochEnd) -> State:
    """Slow update and meta skill look at the same finished epoch, so they run side by side."""
    state = end.state
    for record in await together(epoch_pass(run, end) for epoch_pass in run.epoch_passes):
        state = state.apply(record) if record else state
    return state
