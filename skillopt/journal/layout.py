"""Which files a run directory shows, and their content: the documented layout as a pure function of the view."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import yaml
from pydantic_core import to_json

from skillopt.journal.places import StepView
from skillopt.journal.records import (
    bucket_record,
    digest_record,
    finite,
    flat_config,
    history_record,
    meta_record,
    minibatch_record,
    nested_config,
    report_rows,
    result_row,
    runtime_state,
    skill_path,
    slow_record,
)
from skillopt.journal.summary import summary_record
from skillopt.journal.updates import full_rewrite_record, notes_record, rate_record, rewrite_record
from skillopt.journal.view import RunView
from skillopt.skill.proposals import public_patch
from skillopt.types import JSON, Reflection, Rollout

BEST = "best_skill.md"


class File(NamedTuple):
    """A path relative to the run directory, and its text."""

    path: str
    text: str


def all_files(view: RunView) -> Iterator[File]:
    """Everything the journal so far amounts to."""
    yield from config_files(view)
    yield from baseline_files(view)
    for step in view.steps:
        if step.decision is not None:
            yield from step_files(view, step)
    yield from skill_files(view)
    for epoch in view.slow_epochs:
        yield from slow_files(view, epoch)
    for epoch in view.meta_skills:
        yield from meta_files(view, epoch)
    yield from final_files(view)
    yield from state_files(view)
    yield from test_files(view)


def config_files(view: RunView) -> Iterator[File]:
    if view.started is None:
        return
    yield _json("config.json", dict(flat_config(view)))
    yield File("config.yaml", yaml.safe_dump(dict(nested_config(view)), sort_keys=False, allow_unicode=True))
    if view.kind == "train":
        yield File(skill_path(0), view.skills[0].text)


def skill_files(view: RunView) -> Iterator[File]:
    if view.kind == "train":
        for number, skill in view.skills.items():
            yield File(skill_path(number), skill.text)


def state_files(view: RunView) -> Iterator[File]:
    """What is true now: the best skill, the history and where the run stands."""
    if view.state is None or view.kind != "train":
        return
    yield File(skill_path(view.last_step), view.state.current.text)
    yield File(BEST, view.state.best.text)
    yield File(f"skills/{BEST}", view.state.best.text)
    steps = [step for step in view.steps if step.decision is not None]
    yield _json("history.json", [history_record(view, step) for step in steps])
    yield _json("runtime_state.json", runtime_state(view))
    rates = [{"step": s.step, "epoch": s.epoch} | rate_record(s) for s in steps if s.rate]
    if rates:
        yield File("lr_history.jsonl", "".join(_line(row) for row in rates))


def baseline_files(view: RunView) -> Iterator[File]:
    yield from _results("selection_eval_baseline", view.rollouts("baseline", "val"))


def step_files(view: RunView, step: StepView) -> Iterator[File]:
    home = f"steps/step_{step.step:04d}"
    for part in step.parts:
        room = home if part.index is None else f"{home}/batch_{part.index}"
        yield from _results(f"{room}/rollout", part.rollouts)
        yield from _patches(f"{room}/patches", part.reflections)
    yield from _patches(f"{home}/patches", step.shared)
    if step.selected is not None:
        yield _json(f"{home}/merged_patch.json", public_patch(step.selected.pool))
        yield _json(f"{home}/ranked_edits.json", public_patch(step.selected.patch))
    yield from _mode_files(home, step)
    yield from _results(f"{home}/selection_eval", step.evaluation)
    decision = step.decision
    if decision is None:
        return
    yield File(f"{home}/candidate_skill.md", decision.candidate)
    if decision.reports:
        yield _json(f"{home}/edit_apply_report.json", report_rows(decision))
    if decision.memory is not None:
        yield _json(f"{home}/trajectory_digest.json", digest_record(decision.memory))
    yield _json(f"{home}/step_record.json", history_record(view, step))


def _mode_files(home: str, step: StepView) -> Iterator[File]:
    """What only some ways of updating leave behind."""
    records = {
        "lr_decision.json": rate_record(step),
        "rewrite_result.json": rewrite_record(step),
        "full_rewrite_result.json": full_rewrite_record(step),
        "appendix_notes.json": notes_record(step),
    }
    for name, record in records.items():
        if record:
            yield _json(f"{home}/{name}", record)


def slow_files(view: RunView, epoch: int) -> Iterator[File]:
    home, body = f"slow_update/epoch_{epoch:02d}", view.slow_updates.get(epoch)
    if body is not None and body.pairs:
        yield _json(f"{home}/comparison_pairs.json", [pair.model_dump() for pair in body.pairs])
    if body is not None and body.all_pairs:
        yield _json(f"{home}/comparison_pairs_all.json", [pair.model_dump() for pair in body.all_pairs])
    if (decision := view.decision(f"slow/e{epoch:02d}")) is not None:
        yield File(f"{home}/candidate_skill.md", decision.candidate)
    yield from _results(f"{home}/selection_eval", view.rollouts(f"slow/e{epoch:02d}", "val"))
    yield _json(f"{home}/slow_result.json", slow_record(view, epoch))


def meta_files(view: RunView, epoch: int) -> Iterator[File]:
    yield _json(f"meta_skill/epoch_{epoch:02d}/meta_skill_result.json", meta_record(view, epoch))


def final_files(view: RunView) -> Iterator[File]:
    yield from _results("final_selection_eval", view.rollouts("final", "val"))


def test_files(view: RunView) -> Iterator[File]:
    """The test of seed, best and final skill, once the run has finished, and the summary of it all."""
    state = view.state
    if view.finished is None or state is None or view.kind != "train":
        return
    rows = view.rollouts_of("test")
    tested = {"test_eval_baseline": view.skills[0], "test_eval": state.best, "test_eval_final": state.current}
    for home, skill in tested.items():
        if mine := tuple(row for row in rows if row.skill == skill.digest):
            yield from _results(home, mine)
            yield _json(f"{home}/summary.json", bucket_record(mine))
    yield _json("summary.json", summary_record(view))


def evaluation_files(view: RunView, *, skill: str, split: str) -> Iterator[File]:
    """What an evaluation without training leaves behind."""
    rows = view.rollouts_of("eval")
    yield from _results("", rows)
    overall = bucket_record(rows)["overall"]
    softs = [row.score.soft for row in rows if row.score is not None]
    soft = sum(softs) / len(softs) if softs else None
    counts = {"n_items": len(rows), "hard": overall["hard_acc"], "soft": soft, "missing": len(rows) - len(softs)}
    yield _json("eval_summary.json", {"skill": skill, "split": split} | counts)


def _results(home: str, rollouts: Iterable[Rollout]) -> Iterator[File]:
    lines = [to_json(result_row(r), inf_nan_mode="null", fallback=str).decode() for r in rollouts]
    if lines:
        yield File(f"{home}/results.jsonl" if home else "results.jsonl", "\n".join(lines) + "\n")


def _patches(home: str, reflections: Iterable[Reflection]) -> Iterator[File]:
    counts = {"failure": 0, "success": 0}
    for reflection in reflections:
        word = "fail" if reflection.source == "failure" else "succ"
        yield _json(f"{home}/minibatch_{word}_{counts[reflection.source]:03d}.json", minibatch_record(reflection))
        counts[reflection.source] += 1


def _line(row: JSON) -> str:
    return json.dumps(finite(row), ensure_ascii=False, default=str) + "\n"


def _json(path: str, value: JSON) -> File:
    return File(path, json.dumps(finite(value), indent=2, ensure_ascii=False, default=str) + "\n")
