"""A race, several candidates in a step and parts tried again: whenever the run dies, the same run comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.journal.events import Decided, RolloutDone
from skillopt.journal.log import Journal
from skillopt.testing.crash import Crash, CrashAt
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial, outcome_of
from skillopt.testing.world import World
from skillopt.types import JSON

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
SMALL: dict[str, JSON] = {
    "train.num_epochs": 2,
    "train.batch_size": 6,
    "gradient.minibatch_size": 3,
    "optimizer.use_slow_update": False,
    "optimizer.use_meta_skill": False,
    "evaluation.gate": "race",
    "evaluation.block": 4,
    "env.workers": 3,
}
MANY: dict[str, JSON] = {
    "optimizer.candidates": 2,
    "optimizer.retry_parts": 2,
    "evaluation.screen": 2,
    "evaluation.tie_margin": 0.0,
}


def crashes(run: Path) -> Iterator[Crash]:
    """Around every decision, and at some moments of the measuring before it."""
    events = list(Journal.read(run))
    chosen = {event.seq for event in events if isinstance(event.body, Decided)}
    measured = [e.seq for e in events if isinstance(e.body, RolloutDone) and e.body.stage in ("val", "gate")]
    for seq in sorted({*chosen, *measured[30::25]}):
        yield Crash(seq, "before" if seq % 2 else "after")


@pytest.mark.parametrize("settings", [{}, MANY], ids=["race", "many"])
def test_a_crash_in_a_race_changes_nothing(tmp_path: Path, settings: dict[str, JSON]) -> None:
    with LoopbackServer.in_thread(World(4, noise=0.1, habit="gate-colour"), seed=4) as server:
        trial = Trial(tmp_path, server.url, CONFIG, SMALL | settings).write_items(12, 24, 4)
        whole = trial.train("whole")
        expected, asked = outcome_of(tmp_path / "whole"), set(server.stats()["answers"])
        decisions = [s.decision for s in whole.view.steps if s.decision]
        assert any(d.partial for d in decisions) and any(d.action.startswith("accept") for d in decisions)
        for crash in crashes(tmp_path / "whole"):
            name = f"{crash.moment}{crash.seq}"
            with pytest.raises(CrashAt):
                trial.train(name, on_commit=crash)
            trial.train(name)
            assert outcome_of(tmp_path / name) == expected, name
        assert set(server.stats()["answers"]) == asked, "a restarted run asked something the whole run never asked"


def test_several_candidates_leave_a_record_each(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(World(4, noise=0.1, habit="gate-colour"), seed=4) as server:
        trial = Trial(tmp_path, server.url, CONFIG, SMALL | MANY).write_items(12, 24, 4)
        one, many = trial.train("one", env__workers=1), trial.train("many", env__workers=64)
    assert outcome_of(tmp_path / "one") == outcome_of(tmp_path / "many")
    events = [e.body for e in Journal.read(tmp_path / "many") if isinstance(e.body, Decided)]
    others = [body.decision for body in events if "/candidate" in body.decision.at]
    assert others and all(d.action == "reject" or d.action.startswith("skip") for d in others)
    kept = [step.decision for step in many.view.steps if step.decision]
    assert len(kept) == many.view.plan["total_steps"] and one.view.state == many.view.state


def test_a_bank_pays_for_a_second_run(tmp_path: Path) -> None:
    bank = str(tmp_path / "bank.db")
    with LoopbackServer.in_thread(World(4, noise=0.1), seed=4) as server:
        trial = Trial(tmp_path, server.url, CONFIG, SMALL | {"evaluation.bank": bank}).write_items(12, 24, 4)
        first = trial.train("first")
        second = trial.train("second")
        again = trial.train("third", train__seed=43)
    rows = [e.body for e in Journal.read(tmp_path / "second") if isinstance(e.body, RolloutDone)]
    assert rows and all(body.source == "bank" and body.rollout.usage.calls == 0 for body in rows)
    assert first.view.state == second.view.state
    known = [e.body.source for e in Journal.read(tmp_path / "third") if isinstance(e.body, RolloutDone)]
    assert "bank" in known and "" in known and again.view.finished, "what is new is attempted, what is known is not"
