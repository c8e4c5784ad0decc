from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from skillopt.errors import JournalError
from skillopt.journal import files
from skillopt.journal.artifacts import check_unedited, rebuild, update_artifacts, write_artifacts, write_evaluation
from skillopt.journal.events import Body, Event, Finished, RolloutDone, RunStarted
from skillopt.journal.log import Journal
from skillopt.journal.view import RunView
from skillopt.types import JSON, Failure, Rollout, Score

Rows = list[tuple[str, Body]]
Write = Callable[[Rows], Awaitable[Path]]
PRIVATE = ("events.jsonl", "blobs", ".lock")


def tree(run: Path) -> dict[str, bytes]:
    found = {p.relative_to(run).as_posix(): p.read_bytes() for p in run.rglob("*") if p.is_file()}
    return {name: data for name, data in found.items() if not name.startswith(PRIVATE)}


def load(run: Path, name: str) -> JSON:
    return json.loads((run / name).read_text(encoding="utf-8"))


@pytest.fixture
async def done(write: Write, run: Rows) -> Path:
    """A finished run whose files were written event by event, as a live run does."""
    path = await write(run)
    view = RunView()
    for event in Journal.read(path):
        view.apply(event)
        update_artifacts(view, path, event)
    return path


def test_the_documented_layout(done: Path) -> None:
    assert set(tree(done)) == {
        "config.json", "config.yaml", "history.json", "runtime_state.json", "best_skill.md", "summary.json",
        "skills/skill_v0000.md", "skills/skill_v0001.md", "skills/skill_v0002.md", "skills/best_skill.md",
        "selection_eval_baseline/results.jsonl",
        "steps/step_0001/batch_0/rollout/results.jsonl", "steps/step_0001/batch_1/rollout/results.jsonl",
        "steps/step_0001/batch_0/patches/minibatch_succ_000.json",
        "steps/step_0001/batch_1/patches/minibatch_fail_000.json",
        "steps/step_0001/merged_patch.json", "steps/step_0001/ranked_edits.json",
        "steps/step_0001/candidate_skill.md", "steps/step_0001/edit_apply_report.json",
        "steps/step_0001/selection_eval/results.jsonl", "steps/step_0001/trajectory_digest.json",
        "steps/step_0001/step_record.json",
        "steps/step_0002/rollout/results.jsonl", "steps/step_0002/candidate_skill.md",
        "steps/step_0002/trajectory_digest.json", "steps/step_0002/step_record.json",
        "slow_update/epoch_02/slow_result.json", "slow_update/epoch_02/comparison_pairs.json",
        "slow_update/epoch_02/candidate_skill.md", "meta_skill/epoch_02/meta_skill_result.json",
        "test_eval_baseline/results.jsonl", "test_eval_baseline/summary.json",
        "test_eval/results.jsonl", "test_eval/summary.json",
        "test_eval_final/results.jsonl", "test_eval_final/summary.json",
    }  # fmt: skip


def test_written_event_by_event_or_rebuilt_is_the_same(done: Path) -> None:
    live = tree(done)
    for name in live:
        (done / name).unlink()
    rebuild(done)
    assert tree(done) == live
    rebuild(done)
    assert tree(done) == live


def test_a_moved_run_is_the_same_run(done: Path, tmp_path: Path) -> None:
    before = tree(done)
    moved = tmp_path / "elsewhere" / "run"
    shutil.copytree(done, moved)
    shutil.rmtree(done)
    rebuild(moved)
    assert tree(moved) == before
    assert not any(str(tmp_path).encode() in data for data in before.values())
    state = load(moved, "runtime_state.json")
    assert (moved / state["current_skill_path"]).read_text() != (moved / state["best_skill_path"]).read_text()


def test_history_records(done: Path) -> None:
    first, second = load(done, "history.json")
    assert first == load(done, "steps/step_0001/step_record.json")
    assert (first["step"], first["epoch"], first["step_in_epoch"], first["action"]) == (1, 1, 0, "accept_new_best")
    assert (first["rollout_hard"], first["rollout_n"], first["rollout_missing"]) == (1.0, 1, 1)
    assert (first["n_patches"], first["n_failure_patches"], first["n_success_patches"]) == (1, 1, 0)
    assert (first["n_edits_merged"], first["n_edits_ranked"], first["support_counts"]) == (2, 1, [2])
    assert first["edit_apply_summary"] == {"total": 1, "applied": 1, "skipped": 0, "errors": 0}
    assert (first["selection_hard"], first["selection_soft"], first["candidate_gate_score"]) == (1.0, 0.5, 1.0)
    assert first["tokens"]["rollout"] == {
        "calls": 4, "prompt_tokens": 40, "completion_tokens": 20, "cost_usd": 0.0
    }  # fmt: skip
    assert set(first["timing"]) == {"rollout_s", "reflect_s", "update_s", "evaluate_s"}
    assert [row["n_envs"] for row in first["accumulation_batches"]] == [1, 1]
    assert (second["action"], second["current_score"], second["best_step"]) == ("reject", 1.0, 1)
    assert "n_edits_merged" not in second


def test_a_missing_result_has_no_score_and_a_reason(done: Path) -> None:
    (row,) = map(json.loads, (done / "steps/step_0001/batch_1/rollout/results.jsonl").read_text().splitlines())
    assert (row["id"], row["hard"], row["soft"], row["failure_kind"]) == ("t2", None, None, "timeout")
    assert row["fail_reason"].startswith("timeout: ")
    (other,) = map(json.loads, (done / "steps/step_0001/batch_0/rollout/results.jsonl").read_text().splitlines())
    assert (other["id"], other["hard"], other["f1"], other["predicted_answer"]) == ("t1", 1.0, 1.0, "ans")


def test_the_summary_says_what_its_names_say(done: Path) -> None:
    summary = load(done, "summary.json")
    assert (summary["version"], summary["total_steps"], summary["total_accepts"]) == ("0.2.0", 2, 1)
    assert (summary["total_rejects"], summary["total_skips"]) == (1, 0)
    assert (summary["baseline_selection_hard"], summary["best_selection_hard"]) == (0.5, 1.0)
    assert (summary["final_selection_hard"], summary["final_selection_soft"]) == (0.5, 0.25)
    assert (summary["baseline_test_hard"], summary["test_hard"], summary["test_delta_hard"]) == (0.0, 1.0, 1.0)
    assert [row["epoch"] for row in summary["epoch_stats"]] == [1, 2]
    assert summary["missing"] == [{"at": "e01s01b1", "stage": "train", "id": "t2", "kind": "timeout"}]
    assert (summary["lost_reflections"], len(summary["fallbacks"])) == (1, 1)
    assert summary["tokens"]["total_tokens"] == summary["token_summary"]["_total"]["total_tokens"] > 0
    assert load(done, "test_eval/summary.json")["overall"] == {"total": 1, "hard_acc": 1.0}


def test_texts_are_kept_as_they_are(done: Path) -> None:
    assert (done / "best_skill.md").read_bytes() == "# Seed\n\nRead the whole question — twice.\n".encode()
    assert "—" in (done / "steps/step_0001/ranked_edits.json").read_text(encoding="utf-8")
    assert load(done, "slow_update/epoch_02/slow_result.json")["action"] == "force_accept"
    assert load(done, "config.json") == {"seed": 1, "env": "searchqa"}
    assert yaml.safe_load((done / "config.yaml").read_text()) == {"train": {"seed": 1}, "env": {"name": "searchqa"}}
    digest = load(done, "steps/step_0002/trajectory_digest.json")
    assert digest["failure_patterns"][0]["pattern"] == "haste: skips half of the question"
    assert digest["rejected_edits"] == [{"op": "append", "content": "x", "target": ""}]


def test_every_prefix_of_a_run_can_be_written(events: list[Event], tmp_path: Path) -> None:
    view = RunView()
    for event in events:
        view.apply(event)
        write_artifacts(view, tmp_path)
        check_unedited(view, tmp_path)
        for path in tmp_path.rglob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))


def test_an_edited_best_skill_is_not_overwritten(done: Path) -> None:
    view = RunView.of(Journal.read(done))
    check_unedited(view, done)
    (done / "best_skill.md").write_text("# Seed\n")
    check_unedited(view, done)
    (done / "best_skill.md").write_text("mine\n")
    with pytest.raises(JournalError, match=r"edited by hand.*env\.skill_init"):
        check_unedited(view, done)
    assert (done / "best_skill.md").read_text() == "mine\n"


def test_rebuild_saves_edited_texts_beside(done: Path) -> None:
    for text in ("mine\n", "mine\n", "mine too\n"):
        (done / "best_skill.md").write_text(text)
        rebuild(done)
    assert (done / "best_skill.md").read_text().startswith("# Seed")
    assert (done / "best_skill.edited.md").read_text() == "mine\n"
    assert (done / "best_skill.edited-2.md").read_text() == "mine too\n"
    assert not (done / "best_skill.edited-3.md").exists()


async def test_rebuild_leaves_a_run_that_is_being_written_alone(done: Path) -> None:
    async with Journal.open(done):
        with pytest.raises(JournalError, match="in use"):
            rebuild(done)


def test_a_write_cut_short_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "history.json"
    files.write_atomic(target, b"old")

    def killed(self: Path, other: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            files.write_atomic(target, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["history.json"]
    assert target.read_bytes() == b"old"


def test_an_evaluation_leaves_its_results_and_a_summary(tmp_path: Path) -> None:
    body = RunStarted(kind="eval", skillopt="0", config={"resolved": {"eval": {}}}, prompts={}, data={}, seed_skill="s")
    good = Rollout("a", "d", "s", "eval", "qa", Score(1.0, float("nan")), None)
    gone = Rollout("../b", "d", "s", "eval", "qa", None, Failure("server", "500"))
    bodies = [body, *(RolloutDone(at="eval", stage="eval", rollout=r) for r in (good, gone)), Finished()]
    view = RunView.of(Event(seq=i + 1, ts=i, key=str(i), body=b) for i, b in enumerate(bodies))
    write_artifacts(view, tmp_path)
    write_evaluation(view, tmp_path, skill=Path("my.md"), split="test")
    assert set(tree(tmp_path)) == {"config.json", "config.yaml", "results.jsonl", "eval_summary.json"}
    summary = load(tmp_path, "eval_summary.json")
    assert (summary["n_items"], summary["hard"], summary["soft"], summary["missing"]) == (2, 1.0, None, 1)
