"""Every bad input that used to be swallowed: a clear message, a non-zero exit, no model call, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillopt.testing.server import LoopbackServer
from skillopt.testing.world import write_split

ROOT = Path(__file__).parents[2]
CONFIG = "configs/searchqa/default.yaml"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread(seed=1) as server:
        yield server


@pytest.fixture
def split(tmp_path: Path) -> Path:
    write_split(tmp_path / "split", 8, 4, 4, seed=1)
    return tmp_path / "split"


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def train(server: LoopbackServer, split: Path, tmp_path: Path) -> Run:
    def run(*arguments: str, config: str = CONFIG) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "skillopt.cli", "train", "--config", config, "--plain"]
        command += ["--split_dir", str(split), "--azure_openai_endpoint", server.url]
        command += ["--out_root", str(tmp_path / "run"), "--num_epochs", "1", "--batch_size", "4", *arguments]
        environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)

    return run


def refused(server: LoopbackServer, done: subprocess.CompletedProcess[str], before: int, *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert server.stats()["requests"] == before, "a model was called"
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--cfg-options", "train.num_epoch=2"), ("train.num_epoch", "did you mean train.num_epochs?")),
        (("--cfg-options", "optimizer.learning_rate=0"), ("optimizer.learning_rate", "at least 1")),
        (("--edit_budget", "-3"), ("--edit_budget", "at least 1")),
        (("--minibatch_size", "0"), ("gradient.minibatch_size", "at least 1")),
        (("--cfg-options", "gradient.minibatch_size=-8"), ("gradient.minibatch_size", "at least 1")),
        (("--batch_size", "0"), ("train.batch_size",)),
        (("--use_gate", "perhaps"), ("use_gate",)),
        (("--lr_scheduler", "cosin"), ("cosine",)),
        (("--skill_update_mode", "pach"), ("patch",)),
        (("--num_epoch", "2"), ("--num_epochs",)),
        (("--cfg-options", "evaluation.gate_metric=hrad"), ("hard",)),
        (("--skill_init", "no/such/skill.md"), ("no/such/skill.md", "does not exist")),
        (("--split_mode", "split_dri"), ("split_dir",)),
        (("--env", "serchqa"), ("searchqa",)),
        (("--cfg-options", "env.max_turnss=2"), ("env.max_turns",)),
    ],
)
def test_a_bad_setting(train: Run, server: LoopbackServer, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    before = server.stats()["requests"]
    refused(server, train(*arguments), before, *words)


def test_all_problems_of_a_file_at_once_with_their_lines(train: Run, server: LoopbackServer, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"_base_: {ROOT / CONFIG}\n\ntrain:\n  num_epoch: 3\n\noptimizer:\n  learning_rate: 0\n  lr_schedular: cosine\n"
    )
    before = server.stats()["requests"]
    done = train(config=str(file))
    refused(server, done, before, f"{file}:4: train.num_epoch", f"{file}:7:", f"{file}:8: optimizer.lr_schedular")


def change(split: Path, name: str, edit: Callable[[list[dict[str, object]]], object]) -> None:
    file = split / name / "items.json"
    rows = json.loads(file.read_text())
    edit(rows)
    file.write_text(json.dumps(rows))


@pytest.mark.parametrize(
    ("name", "edit", "words"),
    [
        ("train", lambda rows: rows.clear(), ("train", "empty")),
        ("val", lambda rows: rows.append(rows[0]), ("val", "unique")),
        ("train", lambda rows: rows[1].pop("id"), ("train item 1", "id")),
        ("test", lambda rows: rows[2].pop("context"), ("test item 2", "'context'")),
        ("val", lambda rows: rows[0].update(answers=[]), ("val item 0", "'answers'")),
        ("val", lambda rows: rows[0].update(question=""), ("val item 0", "'question'")),
    ],
)
def test_bad_data(
    train: Run,
    server: LoopbackServer,
    split: Path,
    name: str,
    edit: Callable[[list[dict[str, object]]], object],
    words: tuple[str, ...],
) -> None:
    change(split, name, edit)
    before = server.stats()["requests"]
    refused(server, train(), before, *words)


def test_the_same_item_in_two_splits(train: Run, server: LoopbackServer, split: Path) -> None:
    stolen = json.loads((split / "test" / "items.json").read_text())[0]
    change(split, "train", lambda rows: rows.append(stolen | {"id": "another"}))
    before = server.stats()["requests"]
    refused(server, train(), before, "same content", stolen["id"])


def test_a_missing_split_directory(train: Run, server: LoopbackServer, split: Path) -> None:
    (split / "val" / "items.json").unlink()
    (split / "val").rmdir()
    before = server.stats()["requests"]
    refused(server, train(), before, "val")


def test_an_evil_id_stays_inside_the_run(train: Run, split: Path, tmp_path: Path) -> None:
    change(split, "train", lambda rows: rows[0].update(id="../../evil"))
    outside = {p for p in tmp_path.rglob("*") if (tmp_path / "run") not in p.parents}
    done = train()
    assert done.returncode == 0, done.stderr
    assert {p for p in tmp_path.rglob("*") if (tmp_path / "run") not in p.parents} - outside <= {tmp_path / "run"}
    assert not any("evil" in p.name for p in tmp_path.rglob("*"))
    assert (
        "../../evil"
        in (tmp_path / "run/steps/step_0001/rollout/results.jsonl").read_text()
        + (tmp_path / "run/steps/step_0002/rollout/results.jsonl").read_text()
    )


def test_a_torn_journal_tail_is_kept_aside_and_the_run_goes_on(train: Run, tmp_path: Path) -> None:
    assert train().returncode == 0
    journal = tmp_path / "run" / "events.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-40])
    done = train()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "events.jsonl.torn").read_bytes() == whole[whole[:-1].rfind(b"\n") + 1 : -40]
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["test_hard"] is not None


def test_a_damaged_journal_is_refused(train: Run, server: LoopbackServer, tmp_path: Path) -> None:
    assert train().returncode == 0
    journal = tmp_path / "run" / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:5], b"{broken}\n", *lines[6:]])
    journal.write_bytes(damaged)
    before = server.stats()["requests"]
    refused(server, train(), before, "line 6")
    assert journal.read_bytes() == damaged


def test_an_edited_best_skill_is_not_overwritten(train: Run, server: LoopbackServer, tmp_path: Path) -> None:
    assert train().returncode == 0
    best = tmp_path / "run" / "best_skill.md"
    best.write_text(best.read_text() + "\nMy own line.\n")
    before = server.stats()["requests"]
    refused(server, train(), before, "best_skill.md", "skill_init")
    assert "My own line." in best.read_text()


def test_an_unknown_split_for_evaluation(server: LoopbackServer, split: Path, tmp_path: Path) -> None:
    skill = tmp_path / "skill.md"
    skill.write_text("# Skill\n")
    command = [sys.executable, "scripts/eval_only.py", "--config", CONFIG, "--skill", str(skill), "--split", "tset"]
    command += ["--split_dir", str(split), "--azure_openai_endpoint", server.url, "--out_root", str(tmp_path / "e")]
    before = server.stats()["requests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    refused(server, done, before, "tset", "test")


def test_no_endpoint(split: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "skillopt.cli", "train", "--config", CONFIG, "--split_dir", str(split)]
    environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "AZURE_OPENAI_ENDPOINT" in done.stderr
