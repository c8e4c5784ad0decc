"""A cap is never exceeded, what was paid for is kept, and a higher cap continues the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.errors import BudgetExhausted
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.testing.trial import Trial, outcome_of

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
SMALL = {"train.num_epochs": 2, "train.batch_size": 20, "env.workers": 64}


@pytest.mark.parametrize("cap", [7, 90, 150])
def test_a_cap_on_calls_holds_and_can_be_raised(tmp_path: Path, cap: int) -> None:
    storm = Faults(rate_429=0.05, rate_500=0.05)
    with LoopbackServer.in_thread(seed=6, latency=0.01, faults=storm) as server:
        trial = Trial(tmp_path, server.url, CONFIG, SMALL).write_items(40, 20, 20)
        trial.train("whole")
        server.reset()
        with pytest.raises(BudgetExhausted, match=r"budget.max_calls"):
            trial.train("capped", budget__max_calls=cap)
        assert server.stats()["requests"] <= cap
        trial.train("capped", budget__max_calls=10_000)
    assert outcome_of(tmp_path / "capped")["best"] == outcome_of(tmp_path / "whole")["best"]


def test_a_cap_on_dollars(tmp_path: Path) -> None:
    price = {"input": 1.0, "output": 10.0}
    with LoopbackServer.in_thread(seed=6, latency=0.01) as server:
        settings = SMALL | {"budget.price_per_million_tokens": price, "budget.max_cost_usd": 0.05}
        trial = Trial(tmp_path, server.url, CONFIG, settings).write_items(40, 20, 20)
        with pytest.raises(BudgetExhausted, match=r"max_cost_usd"):
            trial.train("run")
        outcome = trial.train("run", budget__max_cost_usd=50)
    spent = sum(usage.cost_usd for usage in outcome.view.usage.values())
    assert 0.05 < spent < 50
    assert outcome.view.finished is not None
