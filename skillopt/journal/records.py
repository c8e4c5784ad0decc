"""The records of the public file layout, built from the view: pure functions to plain JSON values.

Keys are those of the documented files; numbers mean what their names say, and what is unknown is null.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from skillopt.journal.places import PartView, StepView
from skillopt.journal.updates import change_summary, rate_record, reminder_record
from skillopt.journal.view import RunView
from skillopt.skill.proposals import public_patch, public_row
from skillopt.types import JSON, Decision, Edit, Reflection, Rollout, StepDigest, Tally, Usage, digest

Record = dict[str, JSON]


def skill_path(step: int) -> str:
    return f"skills/skill_v{step:04d}.md"


def flat_config(view: RunView) -> Mapping[str, JSON]:
    """The flat configuration; a journal without one gives its sections' keys side by side."""
    config: Mapping[str, JSON] = view.config
    if "flat" in config:
        return config["flat"]
    flat: Record = {}
    for key, value in nested_config(view).items():
        flat |= value if isinstance(value, dict) else {key: value}
    return flat


def nested_config(view: RunView) -> Mapping[str, JSON]:
    """The configuration as a file that can be run again: the command's own arguments are left out."""
    config: Mapping[str, JSON] = view.config
    return {key: value for key, value in config.get("resolved", config).items() if key not in ("eval", "flat")}


def result_row(rollout: Rollout) -> Record:
    """A line of `results.jsonl`. A missing result has null scores and says why."""
    score, failure = rollout.score, rollout.failure
    row: Record = {
        "id": rollout.item,
        "hard": score.hard if score else None,
        "soft": score.soft if score else None,
        "predicted_answer": rollout.answer,
        "task_type": rollout.kind,
        "task_description": rollout.task,
        "n_turns": rollout.turns,
        "seconds": rollout.seconds,
        "usage": _used(rollout.usage),
    }
    if failure:
        return row | {"fail_reason": f"{failure.kind}: {failure.message}", "failure_kind": failure.kind}
    return {**score.detail, **row} if score else row


def _used(usage: Usage) -> Record:
    used: Record = {"calls": usage.calls, "prompt_tokens": usage.prompt_tokens}
    used["completion_tokens"] = usage.completion_tokens
    return used | ({"cost_usd": usage.cost_usd} if not usage.unpriced else {})


def history_record(view: RunView, step: StepView) -> Record:
    """One entry of `history.json`; `step_in_epoch` counts from 0, as it always did there."""
    decision, after = step.decision, step.after
    tally = step.tally
    record: Record = {
        "step": step.step,
        "epoch": step.epoch,
        "step_in_epoch": step.step_in_epoch - 1,
        "rollout_hard": _rounded(tally.hard),
        "rollout_soft": _rounded(tally.soft),
        "rollout_n": tally.n,
        "rollout_missing": tally.missing,
        "accumulation_batches": [_batch_row(part) for part in step.parts],
        "n_patches": _patches(step.reflections),
        "n_failure_patches": _patches(step.reflections, "failure"),
        "n_success_patches": _patches(step.reflections, "success"),
        "n_lost_reflections": sum(r.lost is not None for r in step.reflections),
        "action": decision.action if decision else None,
    }
    if step.selected is not None:
        record |= _selection(step)
    if decision is not None:
        record |= _verdict(view, step, decision)
    if after is not None:
        record |= {
            "current_score": after.score,
            "best_score": after.best_score,
            "best_step": after.best_step,
            "skill_len": len(after.current.text),
        }
    timing = {f"{stage}_s": round(seconds, 1) for stage, seconds in step.timings.items()}
    return record | {"timing": timing, "tokens": _tokens(step.usage), "wall_time_s": round(step.seconds, 1)}


def digest_record(memory: StepDigest) -> Record:
    """`trajectory_digest.json`: what the optimizer remembers of the step."""
    record: Record = {
        "step": memory.step,
        "action": memory.action,
        "n_total": memory.total,
        "n_fail": memory.failed,
        "failure_patterns": [
            {
                "pattern": f"{p.name}: {p.description}" if p.description else p.name,
                "count": p.count,
                "task_ids": list(p.items),
            }
            for p in memory.patterns
        ],
    }
    if "reject" in memory.action:
        record |= {
            "score_before": memory.score_before,
            "score_after": memory.score_after,
            "rejected_edits": [_short_edit(edit) for edit in memory.rejected],
        }
    return record


def minibatch_record(reflection: Reflection) -> Record:
    """`minibatch_fail_000.json`: an analyst's answer. A lost one keeps its place and says why it is empty."""
    record: Record = {"batch_size": len(reflection.items), "items": list(reflection.items)}
    if reflection.source == "failure":
        rows = [{"failure_type": p.name, "count": p.count, "description": p.description} for p in reflection.patterns]
        record["failure_summary"] = rows
    else:
        record["success_patterns"] = [p.description or p.name for p in reflection.patterns]
    record |= {"patch": public_patch(reflection.patch), "source_type": reflection.source}
    if reflection.patch.notes:
        record["appendix_notes"] = list(reflection.patch.notes)
    return record | ({"lost": reflection.lost} if reflection.lost is not None else {})


def runtime_state(view: RunView) -> Record:
    """`runtime_state.json`. Paths are relative, so a run directory can be moved."""
    state = view.state
    if state is None:
        return {}
    return {
        "last_completed_step": view.last_step,
        "current_skill_path": skill_path(view.last_step),
        "current_score": state.score,
        "current_origin": state.current_origin,
        "best_skill_path": "best_skill.md",
        "best_score": state.best_score,
        "best_step": state.best_step,
        "best_origin": state.best_origin,
    }


def slow_record(view: RunView, epoch: int) -> Record:
    """`slow_result.json`: the guidance and what became of it."""
    at = f"slow/e{epoch:02d}"
    body, decision = view.slow_updates.get(epoch), view.decision(at)
    record: Record = {"epoch": epoch, "action": decision.action if decision else "no_content"}
    if body is not None:
        record |= {
            "reasoning": body.reasoning,
            "slow_update_content": body.content,
            "prev_hard": body.prev_hard,
            "curr_hard": body.curr_hard,
        } | ({"lost": body.lost} if body.lost is not None else {})
    if decision is not None:
        record |= {
            "candidate_hash": _candidate_hash(decision),
            "update_origin": "slow_update_momentum",
            "update_target": "the protected slow-update region of the current skill",
            "reason": decision.reason,
        }
        record |= _selection_scores(decision.tally)
    return record | {"time_s": _rounded(view.seconds(at), 1)}


def meta_record(view: RunView, epoch: int) -> Record:
    body = view.meta_skills[epoch]
    written = bool(body.content) and body.lost is None
    record: Record = {"epoch": epoch, "action": "write_meta_skill" if written else "no_content"}
    record |= {"reasoning": body.reasoning, "meta_skill_content": body.content}
    record |= {"lost": body.lost} if body.lost is not None else {}
    return record | {"time_s": _rounded(view.seconds(f"meta/e{epoch:02d}"), 1)}


def bucket_record(rollouts: Iterable[Rollout]) -> Record:
    """`summary.json` of a test evaluation: items and hard accuracy by task type; missing items are in neither."""
    buckets: dict[str, list[Rollout]] = {}
    rows = tuple(rollouts)
    for rollout in rows:
        buckets.setdefault(rollout.kind or "other", []).append(rollout)
    return {kind: _bucket(group) for kind, group in [*sorted(buckets.items()), ("overall", list(rows))]}


def token_record(usage: Usage) -> Record:
    counts = {"calls": usage.calls, "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    costs: Record = {"cost_usd": usage.cost_usd if usage.unpriced < usage.calls else None}
    gaps = {"unreported_calls": usage.unreported, "unpriced_calls": usage.unpriced}
    return counts | costs | {name: n for name, n in gaps.items() if n}


def finite(value: JSON) -> JSON:
    """JSON has no NaN: in the files of a run it is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value


def _batch_row(part: PartView) -> Record:
    tally = part.tally
    return {
        "batch_idx": part.index or 0,
        "n_envs": tally.n + tally.missing,
        "hard": _rounded(tally.hard),
        "soft": _rounded(tally.soft),
        "n_failure_patches": _patches(part.reflections, "failure"),
        "n_success_patches": _patches(part.reflections, "success"),
    }


def _selection(step: StepView) -> Record:
    selected = step.selected
    if selected is None:
        return {}
    return {
        "n_edits_merged": len(selected.pool.edits),
        "n_edits_ranked": len(selected.patch.edits),
        "edit_budget": selected.budget,
        "lr_control_mode": selected.mode,
        "support_counts": [edit.support_count for edit in selected.patch.edits],
        "fallbacks": [m.fallback for m in (*step.merges, selected) if m.fallback is not None],
    } | ({"lr_decision": rate_record(step)} if step.rate else {})


def _verdict(view: RunView, step: StepView, decision: Decision) -> Record:
    record: Record = {
        "reason": decision.reason,
        "candidate_hash": _candidate_hash(decision),
        "candidate_skill_len": len(decision.candidate),
    }
    if decision.reports:
        record["edit_apply_summary"] = _apply_summary(decision)
    if (summary := change_summary(step)) is not None:
        record["rewrite_change_summary"] = summary
    record |= reminder_record(view, step, decision)
    if decision.tally is None or step.after is None:
        return record
    return record | _selection_scores(decision.tally) | {
        "selection_n": decision.tally.n,
        "selection_missing": decision.tally.missing,
        "gate_metric": flat_config(view).get("gate_metric", "hard"),
        "candidate_gate_score": decision.objective,
        "bar": decision.bar,
        "gained": list(decision.gained),
        "broken": list(decision.broken),
        "current_origin": step.after.current_origin,
        "best_origin": step.after.best_origin,
    } | ({"selection_of": decision.of} if decision.partial else {})  # fmt: skip


def _apply_summary(decision: Decision) -> Record:
    statuses = [report.status for report in decision.reports]
    return {
        "total": len(statuses),
        "applied": sum(status.startswith("applied") for status in statuses),
        "skipped": sum(status.startswith("skipped") for status in statuses),
        "errors": statuses.count("error"),
    }


def report_rows(decision: Decision) -> list[Record]:
    return [asdict(report) for report in decision.reports]


def _selection_scores(tally: Tally | None) -> Record:
    return {"selection_hard": tally.hard, "selection_soft": tally.soft} if tally else {}


def _candidate_hash(decision: Decision) -> str:
    return digest(decision.candidate)


def _short_edit(edit: Edit) -> Record:
    """A rejected proposal in the words of its mode; of a document only what it changed."""
    row, names = public_row(edit), ("title", "instruction", "change_summary", "source_type")
    if "title" in row:
        return {name: row[name] for name in names if name in row}
    return {"op": edit.op, "content": edit.content, "target": edit.target}


def _patches(reflections: Iterable[Reflection], source: str | None = None) -> int:
    return sum(1 for r in reflections if r.patch.edits and source in (None, r.source))


def _tokens(usage: Mapping[str, Usage]) -> Record:
    return {label: token_record(spent) for label, spent in usage.items()}


def _bucket(rollouts: list[Rollout]) -> Record:
    tally = Tally.of(rollouts)
    return {"total": tally.n, "hard_acc": tally.hard} | ({"missing": tally.missing} if tally.missing else {})


def _rounded(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else round(value, digits)
