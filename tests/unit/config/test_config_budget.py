"""The budget section: prices in two spellings, caps that never change a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config import RESULT_NEUTRAL, Config, differing, load_config
from skillopt.config.legacy import overrides_from
from skillopt.config.load import Override, parse_cfg_options
from skillopt.config.schema import Budget, Price
from skillopt.errors import ConfigError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "c.yaml"
    file.write_text(
        "env: {name: toy}\nbudget:\n  max_cost_usd: 5\n  price_per_million_tokens: {input: 1, output: 4.5}\n"
    )
    return file


def test_a_price_in_a_file_and_on_the_command_line(path: Path) -> None:
    options = parse_cfg_options(["budget.target_price_per_million_tokens=0:0.5"])
    config = load_config(path, (*options, *overrides_from({"max_calls": 7, "budget_max_tokens": 9}))).config
    assert config.budget == Budget(
        max_cost_usd=5,
        max_calls=7,
        max_tokens=9,
        price_per_million_tokens=Price(input=1, output=4.5),
        target_price_per_million_tokens=Price(input=0, output=0.5),
    )
    assert Config.model_validate(config.public()) == config


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("price_per_million_tokens", "cheap"),
        ("price_per_million_tokens", "1:2:3"),
        ("price_per_million_tokens", {"input": -1.0, "output": 1.0}),
        ("max_cost_usd", 0),
        ("max_calls", 0),
    ],
)
def test_what_is_no_price_or_cap(path: Path, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"budget.{key}"):
        load_config(path, [Override(f"budget.{key}", value, "test")])


def test_caps_and_pace_change_no_result() -> None:
    old = Config().public()
    changed = {
        "budget": {"max_cost_usd": 1.0, "max_tokens": 5, "max_calls": 5, "price_per_million_tokens": "1:2"},
        "model": {"max_concurrency": 2, "requests_per_minute": 10.0, "tokens_per_minute": 100.0},
    }
    assert differing(old, Config.model_validate(changed).public()) == ()
    assert all(f"budget.{name}" in RESULT_NEUTRAL for name in Budget.model_fields)
    assert differing(old, Config.model_validate({"model": {"api": "responses"}}).public()) == ("model.api",)


@pytest.mark.parametrize("word", ["off", "optimizer", "all"])
def test_off_is_a_word_here(path: Path, word: str) -> None:
    path.write_text(f"env: {{name: toy}}\nmodel: {{cache: {word}}}\n")
    assert load_config(path).config.model.cache == word
