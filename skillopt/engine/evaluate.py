"""The end of a run, and evaluation without training. The test split is opened here and nowhere else."""

from __future__ import annotations

from dataclasses import replace

from skillopt.engine.run import Run, recordable
from skillopt.journal.events import Decided, Finished, StageStarted
from skillopt.journal.state import State
from skillopt.rollout.runner import Place, Runner
from skillopt.skill.document import Skill
from skillopt.together import together
from skillopt.types import Decision, Item, Tally


async def finish(run: Run, state: State) -> State:
    """Validate the last skill if nobody has, promote it if it is better, then test seed, best and final together."""
    if not run.config.evaluation.eval_test:
        await run.journal.once("finished", recordable(Finished()))
        return state
    state = state.apply(await final_validation(run, state))
    skills = (run.seed_skill, state.best, state.current)
    await run.mark("test", "test", len({skill.digest for skill in skills}) * len(run.test))
    seed, best, final = await together(tested(run, skill) for skill in skills)
    await run.journal.once("finished", recordable(Finished(baseline_test=seed, best_test=best, final_test=final)))
    return state


async def tested(run: Run, skill: Skill) -> Tally:
    """A skill that is tested under two names is attempted once: its rollouts have one content key."""
    return Tally.of(await run.rollouts.run(skill, run.test, Place("test", "test", "test")))


async def final_validation(run: Run, state: State) -> Decision:
    """The skill the run ended with may be unmeasured (forced slow update): it becomes best only by its own score."""

    async def effect() -> Decided:
        if state.current.digest == state.best.digest:
            decision = _final(state, state.best_score, None, "the final skill is the best skill")
            return Decided(decision=decision)
        best = run.rollouts.known(state.best.digest, run.val, "val", besides="final")
        # A best skill that was accepted early is compared on the items it is known on.
        items = tuple(i for i in run.val if i.digest in best) if not state.whole and best else run.val
        await run.mark("final", "evaluate", len(items))
        rows = await run.rollouts.run(state.current, items, Place("final", "val", "val"))
        tally = Tally.of(rows)
        score = run.objective.of(tally, state.current)
        bar = state.best_score
        if len(items) < len(run.val):
            bar = run.objective.of(Tally.of(best[i.digest] for i in items), state.best)
        decision = _final(state, score, tally, "measured at the end of the run", bar)
        return Decided(decision=replace(decision, of=len(run.val)))

    return (await run.journal.once("final/decision", effect)).decision


def _final(state: State, score: float | None, tally: Tally | None, reason: str, bar: float | None = None) -> Decision:
    bar = state.best_score if bar is None else bar
    better = score is not None and bar is not None and score > bar
    return Decision(
        at="final",
        action="promote" if better else "final",
        candidate=state.current.text,
        parent=state.current.digest,
        origin=state.current_origin,
        objective=score,
        tally=tally,
        bar=bar,
        reason=reason,
    )


async def evaluate_items(rollouts: Runner, skill: Skill, items: tuple[Item, ...]) -> Tally:
    """Score one document on the given items, without training."""
    journal = rollouts.journal
    await journal.once("eval/eval/started", recordable(StageStarted(at="eval", stage="eval", of=len(items))))
    tally = Tally.of(await rollouts.run(skill, items, Place("eval", "eval", "eval")))
    await journal.once("finished", recordable(Finished(best_test=tally)))
    return tally
