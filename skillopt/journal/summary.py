"""`summary.json`: a finished run on one page. Every `*_hard` is a hard score, also when another number decided."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.journal.places import StepView
from skillopt.journal.records import Record, flat_config, token_record
from skillopt.journal.view import RunView
from skillopt.types import Tally, Usage


def summary_record(view: RunView) -> Record:
    """All keys of the documented summary, plus what was missing, lost or done without the model's answer."""
    steps = tuple(step for step in view.steps if step.decision is not None)
    actions = [step.decision.action for step in steps if step.decision]
    return {
        "version": view.started.skillopt if view.started else None,
        "config": dict(flat_config(view)),
        **_selection(view),
        "total_steps": len(steps),
        "total_accepts": sum("accept" in action for action in actions),
        "total_rejects": sum("reject" in action for action in actions),
        "total_skips": sum(action.startswith("skip") for action in actions),
        "epoch_stats": _epochs(steps),
        **_tests(view),
        "total_wall_time_s": round(view.wall_time, 1),
        "sessions": len(view.sessions),
        "token_summary": _tokens(view),
        "tokens": _total(sum(view.usage.values(), Usage())),
        "missing": [{"at": m.at, "stage": m.stage, "id": m.item, "kind": m.failure.kind} for m in view.missing],
        "lost_reflections": len(view.lost),
        "fallbacks": [{"at": f.at, "stage": f.stage, "reason": f.reason} for f in view.fallbacks],
    }


def _selection(view: RunView) -> Record:
    state, baseline = view.state, view.baseline
    if state is None:
        return {}
    best, final = view.measured(state.best), view.measured(state.current)
    return {
        "baseline_selection_hard": baseline.tally.hard if baseline and baseline.tally else None,
        "best_selection_hard": best.hard if best else None,
        "best_selection_soft": best.soft if best else None,
        "best_gate_score": state.best_score,
        "final_selection_hard": final.hard if final else None,
        "final_selection_soft": final.soft if final else None,
        "best_step": state.best_step,
        "current_origin": state.current_origin,
        "best_origin": state.best_origin,
    }


def _epochs(steps: Sequence[StepView]) -> list[Record]:
    rows: dict[int, Record] = {}
    for step in steps:
        blank = {"epoch": step.epoch, "steps": [], "accepts": 0, "rejects": 0, "skips": 0}
        row = rows.setdefault(step.epoch, blank)
        action = step.decision.action if step.decision else ""
        row["steps"].append(step.step)
        row["accepts"] += "accept" in action
        row["rejects"] += "reject" in action
        row["skips"] += action.startswith("skip")
        row["best_score_at_epoch_end"] = step.after.best_score if step.after else None
        row["current_score_at_epoch_end"] = step.after.score if step.after else None
    return list(rows.values())


def _tests(view: RunView) -> Record:
    done = view.finished
    if done is None:
        return {}
    row: Record = {}
    for name, tally in (
        ("baseline_test", done.baseline_test),
        ("test", done.best_test),
        ("final_test", done.final_test),
    ):
        row |= {f"{name}_hard": tally.hard if tally else None, f"{name}_soft": tally.soft if tally else None}
    row["test_delta_hard"] = _delta(done.best_test, done.baseline_test)
    row["final_test_delta_hard"] = _delta(done.final_test, done.baseline_test)
    return row


def _delta(after: Tally | None, before: Tally | None) -> float | None:
    if after is None or before is None or after.hard is None or before.hard is None:
        return None
    return after.hard - before.hard


def _tokens(view: RunView) -> Record:
    rows = {label: _total(usage) for label, usage in view.usage.items()}
    return rows | {"_total": _total(sum(view.usage.values(), Usage()))}


def _total(usage: Usage) -> Record:
    return token_record(usage) | {"total_tokens": usage.total_tokens}
