"""The shipped feature files combine with a benchmark and set what their headers promise."""

from __future__ import annotations

from pathlib import Path

from skillopt.config import differing, load_config

CONFIGS = Path(__file__).parents[3] / "configs"


def combined(tmp_path: Path, feature: str) -> dict:
    path = tmp_path / "mine.yaml"
    path.write_text(f"_base_: [{CONFIGS}/searchqa/default.yaml, {CONFIGS}/features/{feature}.yaml]\n")
    return load_config(path).config.public()


def test_the_paper_differs_from_the_defaults_in_the_gated_slow_update_alone(tmp_path: Path) -> None:
    plain = load_config(CONFIGS / "searchqa" / "default.yaml").config.public()
    paper = combined(tmp_path, "paper")
    assert differing(plain, paper) == ("optimizer.slow_update_gate_with_selection",)
    assert paper["optimizer"]["slow_update_gate_with_selection"] is True


def test_the_soft_gate_changes_the_metric_alone(tmp_path: Path) -> None:
    plain = load_config(CONFIGS / "searchqa" / "default.yaml").config.public()
    assert differing(plain, combined(tmp_path, "soft_gate")) == ("evaluation.gate_metric",)
