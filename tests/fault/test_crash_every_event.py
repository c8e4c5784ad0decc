"""Whatever moment a run dies at, starting it again gives the run that never died, and no result is bought twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from skillopt.journal.log import Journal
from skillopt.testing.crash import Crash, CrashAt, every_event
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial, outcome_of

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
SMALL = {
    "train.num_epochs": 2,
    "train.batch_size": 4,
    "gradient.minibatch_size": 2,
    "gradient.merge_batch_size": 2,
    "optimizer.slow_update_samples": 3,
    "env.workers": 3,
}


def test_a_crash_at_any_event_changes_nothing(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(seed=3) as server:
        trial = Trial(tmp_path, server.url, CONFIG, SMALL).write_items(8, 5, 4)
        whole = trial.train("whole")
        expected = outcome_of(tmp_path / "whole")
        assert whole.view.state is not None and whole.view.state.best_score != whole.view.baseline.objective
        paid = Counter(server.stats()["answers"])
        for crash in every_event(whole.view.events):
            name = f"{crash.moment}{crash.seq}"
            with pytest.raises(CrashAt):
                trial.train(name, on_commit=crash)
            recorded = {event.key for event in Journal.read(tmp_path / name)}
            trial.train(name)
            assert outcome_of(tmp_path / name) == expected, name
            keys = [event.key for event in Journal.read(tmp_path / name)]
            assert len(keys) == len(set(keys)) and recorded <= set(keys), name
        again = Counter(server.stats()["answers"])
        assert set(again) == set(paid), "a restarted run asked something the whole run never asked"


def test_crashes_in_a_row(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(seed=3) as server:
        trial = Trial(tmp_path, server.url, CONFIG, SMALL).write_items(8, 5, 4)
        events = trial.train("whole").view.events
        for seq in range(2, events, 7):
            with pytest.raises(CrashAt):
                trial.train("often", on_commit=Crash(seq, "before"))
        trial.train("often")
        assert outcome_of(tmp_path / "often") == outcome_of(tmp_path / "whole")
