from __future__ import annotations

import pytest

from skillopt.claims.calibration import calibrated, in_words, items_needed, smallest_lift
from skillopt.evaluation.objective import Objective
from skillopt.types import Failure, Rollout, Score


def rows(values: list[float | None]) -> dict[str, Rollout]:
    found = {}
    for i, value in enumerate(values):
        score = None if value is None else Score(value, value)
        failure = Failure("timeout", "late") if value is None else None
        found[str(i)] = Rollout(f"i{i}", str(i), "s", "aa", "qa", score, failure)
    return found


def test_two_passes_give_the_share_and_the_floor() -> None:
    found = calibrated(rows([1, 1, 0, 0, None]), rows([1, 0, 0, 0, 1]), Objective(), test=100, hoped=0.1)
    assert found is not None
    assert (found.items, found.changed, found.noise, found.floor) == (4, 1, 0.125, 0.25)
    assert "1 of 4 items changed their outcome" in in_words(found)[1]
    assert calibrated(rows([None]), rows([1]), Objective(), test=9, hoped=0.1) is None


def test_power_is_consistent_and_monotone() -> None:
    assert items_needed(0.05, 0.2) > items_needed(0.1, 0.2) > items_needed(0.1, 0.05) > items_needed(0.5, 0.05)
    least = smallest_lift(100, 0.1)
    assert least is not None and items_needed(least, 0.1) <= 100 < items_needed(least * 0.98, 0.1)
    assert smallest_lift(3, 0.1) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        items_needed(0, 0.1)
