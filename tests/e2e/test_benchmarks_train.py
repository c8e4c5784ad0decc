"""Every benchmark trains from end to end against a loopback model that sees pictures and calls tools.

On miniature data of our own, and on the real samples where they lie beside the repository, prepared by our command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from skillopt.envs.base import Benchmark, DataSource
from skillopt.registry import BENCHMARKS, load
from skillopt.testing.mini_docvqa import write_docvqa
from skillopt.testing.mini_livemath import write_livemath
from skillopt.testing.mini_officeqa import write_officeqa
from skillopt.testing.pupil import Lookup, Pupil, questions_for
from skillopt.testing.server import LoopbackServer
from skillopt.types import JSON

ROOT = Path(__file__).parents[2]
ROW_KEYS = {"id", "task_type", "task_description", "hard", "soft", "usage", "seconds", "messages"}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    environ |= {"AZURE_OPENAI_API_KEY": "sk-loopback", "AZURE_OPENAI_AUTH_MODE": "openai_compatible"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300
    )


def trained(
    name: str, split: Path, out: Path, options: dict[str, JSON], lookups: Sequence[Lookup] = (), limit: int = 0
) -> dict[str, JSON]:
    """Two epochs through the shipped script and configuration; the summary of the run."""
    cls = load(BENCHMARKS, name)
    assert issubclass(cls, Benchmark)
    benchmark = cls.configured(options)
    splits = benchmark.load(DataSource("split_dir", str(split), limit=limit))
    questions = questions_for(benchmark, (*splits.train, *splits.val, *splits.test), lookups=lookups)
    with LoopbackServer.in_thread(Pupil(questions)) as server:
        done = command(
            "scripts/train.py",
            "--config", f"configs/{name}/default.yaml",
            "--split_dir", str(split),
            "--azure_openai_endpoint", server.url,
            "--num_epochs", "2",
            "--batch_size", "8",
            "--out_root", str(out),
            "--limit", str(limit),
            "--cfg-options", "train.train_size=0", *(f"env.{k}={json.dumps(v)}" for k, v in options.items()),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads((out / "summary.json").read_text())


def assert_lifted(summary: dict[str, JSON]) -> None:
    assert summary["baseline_test_hard"] == 0.0
    assert summary["best_selection_hard"] == 1.0
    # A small validation split need not hold every lesson that the test split asks for.
    assert summary["test_hard"] >= 0.5


def test_docvqa(tmp_path: Path) -> None:
    split = write_docvqa(tmp_path / "data")
    assert_lifted(trained("docvqa", split, tmp_path / "out", {}))


def test_livemathematicianbench(tmp_path: Path) -> None:
    split = write_livemath(tmp_path / "data")
    assert_lifted(trained("livemathematicianbench", split, tmp_path / "out", {}))


def test_officeqa_looks_things_up(tmp_path: Path) -> None:
    split, docs = write_officeqa(tmp_path / "data")
    lookups = (Lookup("glob", '{"pattern": "*"}'), Lookup("grep", '{"pattern": "bulletin"}', proof="ulletin"))
    assert_lifted(trained("officeqa", split, tmp_path / "out", {"data_dirs": [str(docs)]}, lookups))


@pytest.mark.parametrize("name", ["docvqa", "livemathematicianbench"])
def test_the_real_samples(name: str, shared_data: Path, tmp_path: Path) -> None:
    split = tmp_path / "split"
    done = command("-m", "skillopt", "data", "prepare", name, str(shared_data / name), "--out", str(split))
    assert done.returncode == 0, done.stderr
    assert_lifted(trained(name, split, tmp_path / "out", {}, limit=6))


def test_the_real_treasury_bulletins(shared_data: Path, tmp_path: Path) -> None:
    split, docs = tmp_path / "split", tmp_path / "docs"
    shutil.copytree(shared_data / "officeqa", docs, ignore=shutil.ignore_patterns("*.csv", "*.txt"))
    source = next((shared_data / "officeqa").glob("*.csv"))
    done = command("-m", "skillopt", "data", "prepare", "officeqa", str(source), "--out", str(split))
    assert done.returncode == 0, done.stderr
    lookups = (Lookup("grep", '{"pattern": "public debt"}', proof="ublic debt"),)
    assert_lifted(trained("officeqa", split, tmp_path / "out", {"data_dirs": [str(docs)]}, lookups, limit=6))
