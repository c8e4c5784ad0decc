"""In every way of updating a run may die at any event: started again it becomes the run that never died.

The plain run is crashed at every event in `test_crash_every_event`; here the moments are sampled, those of each mode's
own stages among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.journal.events import NotesConsolidated, RateDecided, Rewritten, SlowUpdated
from skillopt.journal.log import Journal
from skillopt.testing.crash import Crash, CrashAt
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial, outcome_of
from skillopt.testing.world import World
from skillopt.types import JSON

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
TINY: dict[str, JSON] = {
    "train.num_epochs": 2,
    "train.batch_size": 5,
    "gradient.minibatch_size": 3,
    "gradient.merge_batch_size": 2,
    "optimizer.slow_update_samples": 2,
    "env.workers": 3,
}
MODES: dict[str, dict[str, JSON]] = {
    "rewrite": {
        "optimizer.skill_update_mode": "rewrite",
        "optimizer.use_skill_aware_reflection": True,
        "optimizer.skill_aware_consolidate_threshold": 1,
    },
    "full_rewrite": {"optimizer.skill_update_mode": "full_rewrite", "train.memory_scope": "run"},
    "autonomous": {"optimizer.lr_control_mode": "autonomous", "train.patience": 3},
    "gated": {"optimizer.slow_update_gate_with_selection": True, "optimizer.longitudinal_pair_policy": "changed"},
}
OWN = (RateDecided, Rewritten, NotesConsolidated, SlowUpdated)
MOMENTS = 10


def crashes(run: Path) -> Iterator[Crash]:
    """Around each record that only this mode makes, and at a few moments between."""
    events = list(Journal.read(run))
    chosen = {event.seq for event in events if isinstance(event.body, OWN)}
    chosen |= set(range(2, len(events), max(1, len(events) // MOMENTS)))
    for seq in sorted(chosen):
        yield Crash(seq, "before" if seq % 2 else "after")


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_in_any_mode_changes_nothing(tmp_path: Path, mode: str) -> None:
    with LoopbackServer.in_thread(World(4, lapses=0.5, habit="gate-colour"), seed=4) as server:
        trial = Trial(tmp_path, server.url, CONFIG, TINY | MODES[mode]).write_items(10, 6, 4)
        trial.train("whole")
        expected = outcome_of(tmp_path / "whole")
        asked = set(server.stats()["answers"])
        for crash in crashes(tmp_path / "whole"):
            name = f"{crash.moment}{crash.seq}"
            with pytest.raises(CrashAt):
                trial.train(name, on_commit=crash)
            trial.train(name)
            assert outcome_of(tmp_path / name) == expected, name
        assert set(server.stats()["answers"]) == asked, "a restarted run asked something the whole run never asked"


@pytest.mark.parametrize(
    ("mode", "record"),
    [
        ("rewrite", Rewritten),
        ("rewrite", NotesConsolidated),
        ("autonomous", RateDecided),
        ("gated", SlowUpdated),
    ],
)
def test_the_tiny_runs_do_what_their_mode_is_for(tmp_path: Path, mode: str, record: type) -> None:
    with LoopbackServer.in_thread(World(4, lapses=0.5, habit="gate-colour"), seed=4) as server:
        Trial(tmp_path, server.url, CONFIG, TINY | MODES[mode]).write_items(10, 6, 4).train("whole")
    assert any(isinstance(event.body, record) for event in Journal.read(tmp_path / "whole"))
