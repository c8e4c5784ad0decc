"""Weather: a bad provider costs time, never an item and never an invented zero."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from skillopt.errors import ModelError, StageStopped
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.testing.trial import Trial, outcome_of

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
QUICK = {"train.num_epochs": 2, "train.batch_size": 40, "env.exec_timeout": 1.0, "model.timeout_seconds": 1.0}


def test_a_storm_changes_no_result(tmp_path: Path) -> None:
    storm = Faults(rate_429=0.05, rate_500=0.05, rate_malformed=0.02, rate_hang=0.01)
    with LoopbackServer.in_thread(seed=2) as calm, LoopbackServer.in_thread(seed=2, faults=storm) as rough:
        began = time.monotonic()
        Trial(tmp_path, calm.url, CONFIG, QUICK).write_items(80, 40, 80).train("calm")
        fair = time.monotonic() - began
        began = time.monotonic()
        outcome = Trial(tmp_path, rough.url, CONFIG, QUICK).train("rough")
        foul = time.monotonic() - began
        faults = rough.stats()["faults"]
    assert all(faults[kind] > 0 for kind in ("429", "500", "malformed", "hang"))
    assert outcome.view.missing == () and outcome.view.lost == ()
    assert outcome_of(tmp_path / "rough")["best"] == outcome_of(tmp_path / "calm")["best"]
    actions = [[step["action"] for step in outcome_of(tmp_path / n)["history"]] for n in ("rough", "calm")]
    assert actions[0] == actions[1]
    # Every hanging call costs its own second; stages wait for their slowest call, not for one after the other.
    stages = 6 * len(actions[0]) + 8
    assert foul - fair < 4 * stages


def test_an_outage_stops_the_run_and_the_same_command_continues(tmp_path: Path) -> None:
    settings = QUICK | {"model.max_attempts": 2, "train.num_epochs": 1}
    with LoopbackServer.in_thread(seed=2) as good:
        trial = Trial(tmp_path, good.url, CONFIG, settings).write_items(40, 20, 20)
        trial.train("whole")
        url = good.url
    with LoopbackServer.in_thread(seed=2, faults=Faults(rate_500=1.0)) as bad:
        broken = Trial(tmp_path, bad.url, CONFIG, settings)
        with pytest.raises(StageStopped, match="'server'") as stopped:
            broken.train("halted")
        assert "same command" in str(stopped.value)
        assert bad.stats()["requests"] < 60
    events = (tmp_path / "halted" / "events.jsonl").read_text()
    assert '"type":"rollout"' not in events and '"run_stopped"' in events
    assert url


@pytest.mark.parametrize("patience", ["waits", "stops"])
def test_an_outage_in_the_middle_of_a_gate(tmp_path: Path, patience: str) -> None:
    """Configured to wait it waits, configured to stop it stops; no score changes, and it ends as if undisturbed."""
    settings = QUICK | {"train.num_epochs": 1, "env.workers": 4}
    attempts = {"waits": 20, "stops": 1}[patience]
    with LoopbackServer.in_thread(seed=2, latency=0.005) as server:
        trial = Trial(tmp_path, server.url, CONFIG, settings).write_items(40, 40, 20)
        trial.train("whole")
        server.reset()

        def outage(seq: int, moment: str) -> None:
            # The baseline takes 40 rollouts, the step 40 and its analysts; event 110 lies within the gate's 40.
            if seq == 110 and moment == "after" and not server.down:
                server.down = True
                threading.Timer(1.5, lambda: setattr(server, "down", False)).start()

        try:
            trial.train("disturbed", on_commit=outage, model__max_attempts=attempts)
            assert patience == "waits"
        except StageStopped:
            assert patience == "stops"
            time.sleep(1.6)
            trial.train("disturbed", model__max_attempts=attempts)
        assert server.stats()["requests"] > server.stats()["answered"]
    assert outcome_of(tmp_path / "disturbed") == outcome_of(tmp_path / "whole")


def test_a_refused_key_stops_at_once(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(seed=2, api_key="right") as server:
        trial = Trial(tmp_path, server.url, CONFIG, QUICK | {"env.workers": 1}).write_items(8, 4, 4)
        with pytest.raises(ModelError) as refused:
            trial.train("r")
        assert refused.value.kind == "auth" and server.stats()["requests"] == 1


def test_a_few_missing_items_are_left_out_and_said(tmp_path: Path) -> None:
    """Some items cannot be had: they are missing on both sides of the gate, in the results and in the summary."""
    with (
        LoopbackServer.in_thread(seed=9) as calm,
        LoopbackServer.in_thread(seed=9, faults=Faults(rate_500=0.04)) as flaky,
    ):
        settings = QUICK | {"model.max_attempts": 1, "train.num_epochs": 1}
        settings |= {"model.target_azure_openai_endpoint": flaky.url}
        outcome = Trial(tmp_path, calm.url, CONFIG, settings).write_items(40, 40, 40).train("r")
    assert outcome.view.missing and {m.failure.kind for m in outcome.view.missing} == {"server"}
    rows = [
        json.loads(line) for line in (tmp_path / "r/selection_eval_baseline/results.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 40 and any(row["hard"] is None for row in rows)
    assert all((row["hard"] is None) == ("failure_kind" in row) for row in rows)
    assert json.loads((tmp_path / "r/summary.json").read_text())["missing"]
