"""Cells compared, in our form and in the reference's: each row says what both make of a pair."""

from __future__ import annotations

import datetime as dt

import pytest

from skillopt.envs.spreadsheetbench.values import Value, mended, reference

NOON = dt.datetime(2024, 5, 1, 12)


@pytest.mark.parametrize(
    ("expected", "got", "ours", "theirs"),
    [
        (None, "", True, True),
        (None, None, True, True),
        (None, 0, False, False),
        ("a", None, False, False),
        ("a", "a", True, True),
        ("a", "A", False, False),
        ("a", "a ", False, False),
        (1, 1.0, True, True),
        (1, 1.004, True, True),
        (1, 1.01, False, False),
        (2.6750000001, 2.6749999999, True, False),
        ("12", 12, True, True),
        (" 12.50 ", 12.5, True, True),
        ("1_000", 1000, False, True),
        ("nan", "nan", True, False),
        ("inf", "inf", True, True),
        (True, True, True, True),
        (True, 1, False, True),
        (False, 0, False, True),
        (True, "TRUE", False, False),
        (dt.time(8, 30, 15), dt.time(8, 30, 15), True, True),
        (dt.time(8, 30, 15), dt.time(8, 30, 45), False, True),
        (dt.time(12), 0.5, True, False),
        (dt.time(8), "08:00:00", False, False),
        (NOON, NOON, True, True),
        (NOON, NOON + dt.timedelta(microseconds=400), True, True),
        (NOON - dt.timedelta(hours=1), NOON - dt.timedelta(hours=1, seconds=1), False, True),
        (dt.datetime(2024, 5, 1, 13), dt.datetime(2024, 5, 2), False, True),
        (dt.datetime(2024, 5, 1), 45413, True, True),
        (dt.datetime(2024, 5, 1), "45413", False, True),
        (dt.date(2024, 5, 1), dt.datetime(2024, 5, 1), True, False),
        (55, dt.datetime(1900, 2, 24), True, False),
        (61, dt.datetime(1900, 3, 1), True, True),
        (dt.timedelta(hours=30), 1.25, True, False),
        (dt.timedelta(hours=30), dt.timedelta(hours=30), True, True),
        (10**400, 10**400, True, True),
        (1e300, dt.datetime(2024, 5, 1), False, False),
    ],
)  # fmt: skip
def test_pairs(expected: Value, got: Value, ours: bool, theirs: bool) -> None:
    assert mended(expected, got) is ours
    assert mended(got, expected) is ours
    assert reference(expected, got) is theirs
