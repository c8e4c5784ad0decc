from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.schema import Config
from skillopt.model.prices import FlatTariff
from skillopt.model.quote import Range, Sizes, quote, quote_evaluation
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial

FREE = {"optimizer": None, "target": None}
CONFIG = Path(__file__).parents[3] / "configs" / "searchqa" / "default.yaml"


def test_the_shipped_settings_by_hand():
    config = Config.model_validate({"train": {"num_epochs": 2, "batch_size": 40}})
    made = quote(config, Sizes(80, 40, 60), FREE)
    lines = {line.stage: line.calls for line in made.lines}
    assert lines["train"] == Range(160, 160)
    assert lines["val"] == Range(40, 40 * 5 + 40)
    assert lines["test"] == Range(60, 180)
    assert lines["compare"] == Range(0, 40)
    assert lines["analyst"] == Range(4 * 5, 4 * 6)
    assert (made.rollouts.low, made.unpriced) == (260, ("optimizer", "target"))


def test_an_evaluation_is_every_item_once():
    made = quote_evaluation(Config(), Sizes(0, 0, 50), 50, {"target": FlatTariff(1.0, 1.0), "optimizer": None})
    assert (made.calls, made.unpriced) == (Range(50, 50), ())
    assert 0 < made.cost_usd.low < made.cost_usd.high


@given(
    train=st.integers(1, 500),
    batch=st.integers(1, 100),
    accumulation=st.integers(1, 3),
    epochs=st.integers(1, 5),
    minibatch=st.integers(1, 40),
    merge=st.integers(2, 20),
)
def test_a_range_is_a_range(train: int, batch: int, accumulation: int, epochs: int, minibatch: int, merge: int):
    config = Config.model_validate(
        {
            "train": {"num_epochs": epochs, "batch_size": batch, "accumulation": accumulation},
            "gradient": {"minibatch_size": minibatch, "merge_batch_size": merge},
        }
    )
    tariff = FlatTariff(1.0, 4.0)
    made = quote(config, Sizes(train, 20, 20), {"optimizer": tariff, "target": tariff})
    ranges = (made.rollouts, made.calls, made.tokens, made.cost_usd, made.minutes, *(x.calls for x in made.lines))
    assert all(0 <= each.low <= each.high for each in ranges)
    assert made.rollouts.low >= train * epochs


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_real_run_stays_inside_its_quote(tmp_path: Path, epochs: int):
    sizes = (40, 20, 20)
    with LoopbackServer.in_thread(seed=2) as server:
        trial = Trial(tmp_path, server.url, CONFIG, {"train.num_epochs": epochs, "train.batch_size": 20})
        outcome = trial.write_items(*sizes).train()
        answered = server.stats()["answered"]
    config = Config.model_validate({"train": {"num_epochs": epochs, "batch_size": 20}})
    made = quote(config, Sizes(*sizes), FREE)
    used = {stage: usage.calls for stage, usage in outcome.view.usage.items()}
    assert made.rollouts.low <= used["rollout"] <= made.rollouts.high
    assert made.calls.low <= answered <= made.calls.high


def local(**more) -> Config:
    model = {"target_backend": "local", "target": "smollm2-135m", "optimizer_backend": "miner", **more}
    settled = {"use_slow_update": False, "use_meta_skill": False}
    return Config.model_validate({"model": model, "train": {"num_epochs": 1, "batch_size": 20}, "optimizer": settled})


def test_a_judge_grades_every_attempt_and_is_paid_for():
    tariff = {"optimizer": FlatTariff(1.0, 4.0), "target": FlatTariff(0.0, 0.0)}
    config = Config.model_validate({"train": {"num_epochs": 2, "batch_size": 40}})
    plain, judged = (quote(config, Sizes(80, 40, 60, judged=judged), tariff) for judged in (False, True))
    calls = {line.stage: line.calls for line in judged.lines}
    assert calls["judge"] == judged.rollouts == plain.rollouts
    assert judged.calls == plain.calls + plain.rollouts and judged.cost_usd.low > plain.cost_usd.low
    assert quote_evaluation(config, Sizes(0, 0, 9, judged=True), 9, tariff).calls == Range(18, 18)


def test_the_miner_asks_nobody():
    made = quote(local(), Sizes(40, 20, 20, prompt_chars=300), FREE)
    assert {line.role for line in made.lines} == {"target"} and made.calls == made.rollouts
    assert "compare" not in {line.stage for line in made.lines}


def test_both_may_ask_nobody_in_a_step():
    shipped, both = ({"gradient": {"mine": mine}} for mine in (False, True))
    lines = [quote(Config.model_validate(c), Sizes(80, 40, 60), FREE).lines for c in (shipped, both)]
    low = [next(line.calls.low for line in found if line.stage == "analyst") for found in lines]
    assert low[0] > 0 and low[1] == 0


def test_a_local_model_takes_its_time_whatever_the_workers():
    small, large = (
        quote(local(target=name), Sizes(40, 20, 20, prompt_chars=300, answer_tokens=24), FREE).minutes
        for name in ("smollm2-135m", "qwen2.5-coder-1.5b")
    )
    assert 0 < small.low < small.high < 5 and large.low > 3 * small.low
