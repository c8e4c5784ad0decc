"""The commands that the public documents print, run as a user runs them, against the loopback server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.testing.server import LoopbackServer
from skillopt.testing.world import write_split

ROOT = Path(__file__).parents[2]
KEY = "sk-loopback-5f2d"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread(seed=1, api_key=KEY) as server:
        yield server


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searchqa_split")
    write_split(folder, 80, 40, 80, seed=1)
    return folder


def run(script: str, *arguments: str, key: str = KEY) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    environ |= {"AZURE_OPENAI_API_KEY": key, "AZURE_OPENAI_AUTH_MODE": "openai_compatible"}
    command = [sys.executable, f"scripts/{script}", "--config", "configs/searchqa/default.yaml", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def trained(server: LoopbackServer, split: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("outputs") / "my_run"
    done = run(
        "train.py",
        "--split_dir", str(split),
        "--azure_openai_endpoint", server.url,
        "--optimizer_model", "gpt-5.5",
        "--target_model", "gpt-5.5",
        "--out_root", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_training_lifts_the_held_out_score(trained: tuple[Path, str]) -> None:
    summary = json.loads((trained[0] / "summary.json").read_text())
    assert summary["baseline_test_hard"] < 0.3
    assert summary["test_hard"] >= 0.9
    assert "[Step 1/8] Gate: val score 0.60 > 0.20 ✓ ACCEPT" in trained[1]


def test_eval_only_reproduces_the_number(trained: tuple[Path, str], server: LoopbackServer, split: Path) -> None:
    out = trained[0].parent / "eval"
    done = run(
        "eval_only.py",
        "--skill", str(trained[0] / "best_skill.md"),
        "--split", "valid_unseen",
        "--split_dir", str(split),
        "--azure_openai_endpoint", server.url,
        "--out_root", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads((trained[0] / "summary.json").read_text())
    found = json.loads((out / "eval_summary.json").read_text())
    assert found["n_items"] == 80 and found["hard"] == summary["test_hard"]


def test_the_documented_files_are_there(trained: tuple[Path, str]) -> None:
    out = trained[0]
    for name in (
        "config.json", "config.yaml", "history.json", "runtime_state.json", "best_skill.md", "summary.json",
        "skills/skill_v0000.md", "skills/skill_v0008.md", "skills/best_skill.md", "steps/step_0001/candidate_skill.md",
        "steps/step_0001/step_record.json", "steps/step_0001/trajectory_digest.json",
        "steps/step_0001/patches/minibatch_fail_000.json", "steps/step_0001/rollout/results.jsonl",
        "steps/step_0001/selection_eval/results.jsonl", "slow_update/epoch_02/slow_result.json",
        "meta_skill/epoch_02/meta_skill_result.json", "test_eval/summary.json",
    ):  # fmt: skip
        assert (out / name).is_file(), name


def test_no_key_in_any_file(trained: tuple[Path, str]) -> None:
    assert KEY not in trained[1]
    for file in trained[0].rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


def test_running_the_same_command_again_costs_nothing(
    trained: tuple[Path, str], server: LoopbackServer, split: Path
) -> None:
    before = server.stats()["requests"]
    where = ("--split_dir", str(split), "--azure_openai_endpoint", server.url, "--out_root", str(trained[0]))
    done = run("train.py", *where)
    assert done.returncode == 0 and server.stats()["requests"] == before


def test_another_configuration_is_refused(trained: tuple[Path, str], server: LoopbackServer, split: Path) -> None:
    before = server.stats()["requests"]
    where = ("--split_dir", str(split), "--azure_openai_endpoint", server.url, "--out_root", str(trained[0]))
    done = run("train.py", *where, "--batch_size", "20", "--workers", "3")
    assert done.returncode == 2 and server.stats()["requests"] == before
    assert "train.batch_size: was 40, now 20" in done.stderr and "workers" not in done.stderr


def test_a_run_directory_can_be_moved_and_rebuilt(trained: tuple[Path, str], tmp_path: Path) -> None:
    import shutil

    moved = tmp_path / "elsewhere"
    shutil.copytree(trained[0], moved)
    (moved / "history.json").unlink()
    shutil.rmtree(moved / "steps")
    done = subprocess.run(
        [sys.executable, "-m", "skillopt.cli", "runs", "rebuild", str(moved)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for name in ("history.json", "steps/step_0003/step_record.json"):
        assert (moved / name).read_bytes() == (trained[0] / name).read_bytes()
    assert str(trained[0]) not in (moved / "runtime_state.json").read_text()


def test_a_wrong_key_is_noticed_at_the_first_calls(server: LoopbackServer, split: Path, tmp_path: Path) -> None:
    before = server.stats()["requests"]
    done = run(
        "train.py", "--split_dir", str(split), "--azure_openai_endpoint", server.url, "--out_root", str(tmp_path / "r"),
        "--workers", "2", key="sk-wrong-77",
    )  # fmt: skip
    assert done.returncode == 3 and "sk-wrong-77" not in done.stderr + done.stdout
    assert server.stats()["requests"] - before <= 2
    assert "key" in done.stderr.lower()
