"""kill -9 on the real command, at random moments, until it gets through."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from skillopt.journal.log import Journal
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial, outcome_of

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "searchqa" / "default.yaml"
KILLS = 50
WORKERS = 8


@pytest.mark.slow
def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    settings = {"train.num_epochs": 3, "train.batch_size": 20, "env.workers": WORKERS}
    with LoopbackServer.in_thread(seed=4, latency=0.03) as server:
        Trial(tmp_path, server.url, CONFIG, settings).write_items(60, 30, 30).train("whole")
        whole = Counter(server.stats()["answers"])
        server.reset()
        command = [sys.executable, "-m", "skillopt.cli", "train", "--config", str(CONFIG), "--plain"]
        command += ["--split_dir", str(tmp_path / "split"), "--azure_openai_endpoint", server.url]
        command += ["--out_root", str(tmp_path / "killed"), "--num_epochs", "3", "--batch_size", "20"]
        command += ["--workers", str(WORKERS)]
        kills = _kill_often(command, random.Random(11))
        done = subprocess.run(command, cwd=ROOT, env=_environ(), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        paid = Counter(server.stats()["answers"])
    assert kills == KILLS
    assert outcome_of(tmp_path / "killed") == outcome_of(tmp_path / "whole")
    assert set(paid) == set(whole), "a restarted run asked something the whole run never asked"
    # Only what was under way when the process died may be asked again; a finished and recorded call never is.
    extra = sum((paid - whole).values())
    assert extra <= kills * 2 * WORKERS
    keys = [event.key for event in Journal.read(tmp_path / "killed")]
    assert len(keys) == len(set(keys))


def _kill_often(command: list[str], chance: random.Random) -> int:
    """Start the command and kill it after a random time, until it has been killed often enough."""
    kills = 0
    while kills < KILLS:
        process = subprocess.Popen(command, cwd=ROOT, env=_environ(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(chance.uniform(0.05, 1.2))
        if process.poll() is not None:
            process.communicate()
            return kills
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
    return kills


def _environ() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if "OPENAI" not in k}
