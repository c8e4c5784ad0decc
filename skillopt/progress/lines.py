"""One line per milestone, for logs and above the live panel: the same words in both."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.journal.events import (
    Decided,
    Event,
    Finished,
    Merged,
    MetaSkillWritten,
    NotesConsolidated,
    RateDecided,
    Reflected,
    Rewritten,
    RolloutDone,
    RunResumed,
    RunStarted,
    RunStopped,
    Selected,
    SlowUpdated,
    StageStarted,
)
from skillopt.journal.places import StepName, step_of
from skillopt.journal.view import RunView
from skillopt.progress.words import apart, count, one_line, place, score, setting
from skillopt.types import Decision, Tally

Lines = tuple[str, ...]


@dataclass(slots=True)
class Milestones:
    """Turns events into lines. It remembers only which steps have had their patches announced."""

    _announced: set[str] = field(default_factory=set[str])

    def begin(self, view: RunView) -> Lines:
        """What to say before the first event of this process."""
        if view.started is None:
            return ()
        if view.finished is not None:
            return ("[Run] already finished; nothing was run again",)
        total = view.plan.get("total_steps")
        done = f" after {view.last_step} of {count(total, 'step')}" if total and view.kind == "train" else ""
        return (f"[Run] continuing{done}", *_opening(view))

    def of(self, view: RunView, event: Event) -> Lines:
        """The lines an event is worth; most events are worth none."""
        match event.body:
            case RunStarted():
                return _opening(view)
            case RunStopped(reason=reason):
                return (f"[Run] stopped: {one_line(reason)}",)
            case StageStarted() as body:
                return _stage(view, body)
            case RolloutDone() as body:
                return (*_missing(view, body), *_rolled_out(view, body))
            case Reflected() as body if body.reflection.lost is not None:
                about = count(len(body.reflection.items), "trajectory", "trajectories")
                return (f"{place(view, body.at)} Reflection lost ({about}): {one_line(body.reflection.lost)}",)
            case Merged() as body:
                return (*self._patches(view, body.at), *_fallback(view, body.at, "Merge", body.fallback))
            case Selected() as body:
                return (*self._patches(view, body.at), *_selected(view, body))
            case RateDecided() as body:
                return _fallback(view, body.at, "Learning rate", body.error)
            case Rewritten() as body:
                return _fallback(view, body.at, "Rewrite", body.lost)
            case NotesConsolidated() as body:
                return _fallback(view, body.at, "Appendix", body.lost)
            case Decided(decision=decision):
                return _decided(view, decision)
            case SlowUpdated() as body:
                return _slow(view, body)
            case MetaSkillWritten() as body:
                said = f"nothing new ({one_line(body.lost)})" if body.lost else "written"
                return (f"[Epoch {body.epoch}] meta skill: {said}",)
            case Finished() as body:
                return _finished(view, body)
            case RunResumed() | Reflected():
                return ()

    def _patches(self, view: RunView, at: str) -> Lines:
        step = view.step(at)
        if step is None or step.at in self._announced:
            return ()
        self._announced.add(step.at)
        useful = sum(1 for r in step.reflections if r.patch.edits)
        return (f"{place(view, step.at)} {count(useful, 'edit patch', 'edit patches')} generated",)


def _opening(view: RunView) -> Lines:
    if view.kind != "train" or not setting(view, "optimizer", "use_slow_update"):
        return ()
    gated = setting(view, "optimizer", "slow_update_gate_with_selection")
    return (f"[slow update] acceptance={'gated' if gated else 'force'}",)


def _stage(view: RunView, body: StageStarted) -> Lines:
    if body.stage == "rollout" and StepName.parse(body.at):
        what = "Rollout"
    elif body.stage in ("test", "eval"):
        what = "Running"
    else:
        return ()
    workers = view.plan.get("workers")
    side = f", {count(workers, 'worker')}" if workers else ""
    return (f"{place(view, body.at)} {what}: {count(body.of, 'item')}{side}...",)


def _missing(view: RunView, body: RolloutDone) -> Lines:
    failure = body.rollout.failure
    if failure is None:
        return ()
    where = place(view, body.at)
    return (f"{where} No result for item {body.rollout.item} ({failure.kind}): {one_line(failure.message)}",)


def _rolled_out(view: RunView, body: RolloutDone) -> Lines:
    """The training score, once the last attempt of the step is in."""
    if body.stage != "train" or (now := view.progress) is None or now.stage != "rollout" or now.done != now.of:
        return ()
    step = view.step(body.at)
    return (f"{place(view, step_of(body.at))} Score: {score(step.tally.hard)} → Reflect...",) if step else ()


def _selected(view: RunView, body: Selected) -> Lines:
    edits = count(len(body.patch.edits), "edit")
    rate, schedule = setting(view, "optimizer", "learning_rate"), setting(view, "optimizer", "lr_scheduler")
    if body.budget is None:
        rule = "no limit"
    elif body.mode == "autonomous":
        rule = f"autonomous → {body.budget}"
    else:
        rule = f"lr={rate}, {schedule} → {body.budget}"
    where = place(view, body.at)
    return (f"{where} Selected {edits} ({rule})", *_fallback(view, body.at, "Ranking", body.fallback))


def _fallback(view: RunView, at: str, what: str, reason: str | None) -> Lines:
    return (f"{place(view, at)} {what} answer not usable, fell back: {one_line(reason)}",) if reason else ()


def _decided(view: RunView, decision: Decision) -> Lines:
    where = place(view, decision.at)
    if decision.action == "baseline":
        return (f"{where} val score {score(decision.objective)} ({_items(decision.tally)})",)
    if decision.action in ("final", "promote"):
        best = ", the new best" if decision.action == "promote" else ""
        return (f"{where} val score {score(decision.objective)}{best} ({decision.reason})",)
    if decision.at.startswith("slow/"):
        return (f"{where} slow update: {_verdict(decision)}",)
    return (f"{where} Gate: {_verdict(decision)}",)


def _verdict(decision: Decision) -> str:
    new, bar = decision.objective, decision.bar
    match decision.action:
        case "accept" | "accept_new_best" | "reject":
            if decision.partial:
                return f"{'✗ REJECT' if decision.action == 'reject' else '✓ ACCEPT'} ({decision.reason})"
            return _compared(new, bar, accepted=decision.action != "reject", reason=decision.reason)
        case "force_accept" if new is None:
            return "✓ applied without a measurement"
        case "force_accept":
            return f"off, val score {score(new)} ✓ ACCEPT"
        case _:
            return f"skipped, {decision.reason}" if decision.reason else "skipped"


def _compared(new: float | None, bar: float | None, *, accepted: bool, reason: str) -> str:
    """Candidate against bar. Where items are missing the gate compared other sums, and its own reason is shown."""
    verdict = "✓ ACCEPT" if accepted else "✗ REJECT"
    if new is None or bar is None or (new > bar) != accepted:
        return f"{verdict} ({reason})"
    first, second = apart(new, bar)
    return f"val score {first} {'>' if accepted else '≤'} {second} {verdict}"


def _slow(view: RunView, body: SlowUpdated) -> Lines:
    if body.lost or not body.content:
        said = f"no guidance ({one_line(body.lost)})" if body.lost else "no guidance"
    elif body.prev_hard is not None and body.curr_hard is not None:
        said = f"guidance written (training items {score(body.prev_hard)} → {score(body.curr_hard)})"
    else:
        said = "guidance written"
    return (f"[Epoch {body.epoch}] slow update: {said}",)


def _finished(view: RunView, body: Finished) -> Lines:
    best = body.best_test
    if best is None:
        return ("[Run] finished",)
    if view.kind == "eval":
        return (f"[Eval] hard {score(best.hard)}, soft {score(best.soft)} ({_items(best)})",)
    seed = body.baseline_test
    before = f"{score(seed.hard)} → " if seed else ""
    return (f"[Test] score {before}{score(best.hard)} ({_items(best)})",)


def _items(tally: Tally | None) -> str:
    if tally is None:
        return "not measured"
    missing = f", {tally.missing} without a result" if tally.missing else ""
    return f"{count(tally.n, 'item')}{missing}"
