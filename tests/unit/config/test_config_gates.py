"""The gate's keys: the shipped feature files set what their headers promise, and `off` is a word in YAML too."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config import differing, load_config

CONFIGS = Path(__file__).parents[3] / "configs"


def combined(tmp_path: Path, feature: str) -> dict:
    path = tmp_path / "mine.yaml"
    path.write_text(f"_base_: [{CONFIGS}/searchqa/default.yaml, {CONFIGS}/features/{feature}.yaml]\n")
    return load_config(path).config.public()


def test_the_race_changes_the_gate_alone(tmp_path: Path) -> None:
    plain = load_config(CONFIGS / "searchqa" / "default.yaml").config.public()
    assert differing(plain, combined(tmp_path, "race_gate")) == ("evaluation.gate",)


def test_efficient_races_and_ends_early(tmp_path: Path) -> None:
    config = combined(tmp_path, "efficient")
    assert config["evaluation"]["gate"] == "race" and config["train"]["stop_at_score"] == 1.0
    assert config["train"]["patience"] > 0 and config["train"]["batch_size"] < 40


@pytest.mark.parametrize(("word", "meaning"), [("off", "off"), ("Race", "race"), ("'strict'", "strict")])
def test_the_words_of_the_gate(tmp_path: Path, word: str, meaning: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"env: {{name: toy}}\nevaluation:\n  gate: {word}\n")
    assert load_config(path).config.evaluation.gate == meaning
