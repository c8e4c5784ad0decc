"""Intervals against values known from elsewhere, and the laws they keep."""

from __future__ import annotations

import pytest

from skillopt.evaluation.statistics import bootstrap, detectable_lift, mean_interval, paired_bootstrap, wilson


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        # Newcombe (1998), table I, method 3: the score interval without continuity correction.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_wilson_is_the_published_interval(passed: int, n: int, low: float, high: float) -> None:
    found = wilson(passed, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.value == passed / n and found.n == n


def test_the_bootstrap_agrees_with_the_normal_interval_where_both_are_good() -> None:
    values = [1.0] * 120 + [0.0] * 80
    found = bootstrap(values, seed=3)
    half = 1.96 * (0.6 * 0.4 / 200) ** 0.5
    assert found.value == 0.6
    assert found.low == pytest.approx(0.6 - half, abs=0.008)
    assert found.high == pytest.approx(0.6 + half, abs=0.008)


def test_pairing_removes_what_both_share() -> None:
    before = [float(i % 2) for i in range(100)]
    after = [1.0 if i < 20 else value for i, value in enumerate(before)]
    paired = paired_bootstrap(before, after)
    assert paired.value == pytest.approx(0.1)
    # Ten of a hundred items changed, all for the better: the exact binomial 95% range of their share is 0.05 to 0.18.
    assert 0.03 < paired.low < 0.06 and 0.15 < paired.high < 0.19


def test_a_seed_gives_one_answer() -> None:
    before, after = [0.0, 1.0, 0.5, 0.25] * 10, [1.0, 1.0, 0.5, 0.75] * 10
    assert paired_bootstrap(before, after, seed=1) == paired_bootstrap(before, after, seed=1)


def test_equal_differences_still_have_a_width() -> None:
    """Twenty items without a change do not prove that no item would change."""
    same, all_won = paired_bootstrap([1.0] * 20, [1.0] * 20), paired_bootstrap([0.0] * 20, [1.0] * 20)
    assert (same.low, same.high) == (pytest.approx(-0.1611, abs=5e-5), pytest.approx(0.1611, abs=5e-5))
    assert (all_won.low, all_won.high) == (pytest.approx(1 - 2 * 0.1611, abs=2e-4), 1.0)


def test_pass_or_fail_gets_wilson_and_partial_credit_the_bootstrap() -> None:
    assert mean_interval([1.0] * 5).low == wilson(5, 5).low
    partial = mean_interval([0.5, 1.0, 0.25, 0.75])
    assert partial.low < partial.value < partial.high


def test_what_n_items_can_show() -> None:
    # Two groups of 388 tell 0.5 from 0.6, 93 tell 0.5 from 0.7 (standard tables, two-sided 5%, power 80%).
    assert detectable_lift(388) == pytest.approx(0.10, abs=0.001)
    assert detectable_lift(93) == pytest.approx(0.20, abs=0.002)
    assert detectable_lift(5) is None
    found = [detectable_lift(n) for n in (20, 50, 200, 1000)]
    assert found == sorted(found, reverse=True, key=lambda x: x or 0)


def test_unequal_or_empty_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        paired_bootstrap([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least one"):
        wilson(0, 0)
