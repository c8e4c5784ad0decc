from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.optimizer.schedules import build_scheduler, constant, cosine, linear


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (linear(10, 2, 4), [8, 6, 4, 2, 2]),
        (linear(10, 2, 10), [9]),
        (cosine(10, 2, 4), [9, 6, 3, 2, 2]),
        (cosine(4, 2, 8), [4, 4, 3, 3, 3, 2, 2, 2, 2]),
        (constant(5), [5, 5]),
        (linear(7, 2, 1), [7, 7]),
    ],
)
def test_check_values(schedule, values):
    assert [schedule(step) for step in range(1, len(values) + 1)] == values


@given(st.sampled_from([linear, cosine]), st.integers(0, 20), st.integers(0, 20), st.integers(2, 60))
def test_decay_falls_from_the_rate_to_the_floor_and_stays(kind, low, spread, total):
    values = [kind(low + spread, low, total)(step) for step in range(1, total + 4)]
    assert values == sorted(values, reverse=True)
    assert values[0] <= low + spread and values[total - 1 :] == [low] * 4


def test_the_counting_scheduler_continues_where_it_was():
    first = build_scheduler("linear", 10, 2, 4)
    assert [first.step(), first.step()] == [8, 6]
    second = build_scheduler("linear", 10, 2, 4)
    second.load_state_dict(first.state_dict())
    assert second.step() == 4 and second.get_lr(1) == 8
    second.load_state_dict({})
    assert second.step() == 8
    assert build_scheduler("autonomous").step() == 999


def test_an_unknown_mode_names_the_modes():
    with pytest.raises(ValueError, match=r"constant, linear, cosine, autonomous"):
        build_scheduler("sine")
