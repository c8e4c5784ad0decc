"""The same seed gives the same prompts, decisions and skill, however many workers there are."""

from __future__ import annotations

from pathlib import Path

from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial, outcome_of
from skillopt.testing.world import World

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"


def test_1_24_and_256_workers_ask_and_decide_the_same(tmp_path: Path) -> None:
    asked, outcomes = [], []
    for workers in (1, 24, 256):
        with LoopbackServer.in_thread(World(5, noise=0.05), seed=5, latency=0.001) as server:
            trial = Trial(tmp_path, server.url, CONFIG, {"train.num_epochs": 3}).write_items(48, 24, 24)
            trial.train(f"w{workers}", env__workers=workers, gradient__analyst_workers=workers, train__batch_size=16)
            asked.append(server.stats()["answers"])
            outcomes.append(outcome_of(tmp_path / f"w{workers}"))
    assert asked[0] == asked[1] == asked[2]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert any(step["action"] == "accept_new_best" for step in outcomes[0]["history"])


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(World(5, noise=0.05), seed=5) as server:
        trial = Trial(tmp_path, server.url, CONFIG, {"train.num_epochs": 1}).write_items(48, 24, 24)
        trial.train("a", train__batch_size=16)
        trial.train("b", train__batch_size=16, train__seed=7)
    first = [(tmp_path / name / "steps/step_0001/rollout/results.jsonl").read_text() for name in "ab"]
    assert first[0] != first[1]
