"""When two cells hold the same: a small table of types, in our form and in the reference's.

`mended` compares what the cell stores: a date equals its serial number, to the second; TRUE is not 1; the text "nan" is
a text. `reference` keeps the published comparison with its quirks, for numbers that must be comparable.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

Value = str | int | float | bool | dt.datetime | dt.date | dt.time | dt.timedelta | None
Same = Callable[[Value, Value], bool]

_EPOCH = dt.datetime(1899, 12, 30)
_FIRST_TRUE_DAY = dt.datetime(1900, 3, 1)
"""Excel counts a 29 February 1900, so dates before this one have a number that is smaller by one."""
_DAY = 86_400
_NOISE = 1e-9
"""Two numbers this close, relative to their size, are the same although they round apart."""


def mended(expected: Value, got: Value) -> bool:
    if _empty(expected) or _empty(got):
        return _empty(expected) and _empty(got)
    if isinstance(expected, bool) or isinstance(got, bool):
        return isinstance(expected, bool) and isinstance(got, bool) and expected == got
    first, second = _seconds(expected), _seconds(got)
    if first is not None or second is not None:
        first, second = _or_serial(first, expected), _or_serial(second, got)
        return first is not None and first == second
    one, two = number(expected), number(got)
    if one is not None and two is not None:
        return round(one, 2) == round(two, 2) or math.isclose(one, two, rel_tol=_NOISE)
    return one is None and two is None and expected == got


def number(value: Value) -> float | None:
    """A number, or a text that is one; not "nan", "inf" or "1_000", which Python would take."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def reference(expected: Value, got: Value) -> bool:
    one, two = _reduced(expected), _reduced(got)
    if _empty(one) or _empty(two):
        return _empty(one) and _empty(two)
    return type(one) is type(two) and one == two


COMPARISONS: Mapping[str, Same] = MappingProxyType({"mended": mended, "reference": reference})


def _empty(value: object) -> bool:
    return value is None or value == ""


def _seconds(value: Value) -> int | None:
    """A moment or a span in seconds since the epoch of workbooks; None for everything else."""
    if isinstance(value, dt.datetime):
        passed = (value.replace(tzinfo=None) - _EPOCH).total_seconds()
        return round(passed - _DAY if value.replace(tzinfo=None) < _FIRST_TRUE_DAY else passed)
    if isinstance(value, dt.date):
        return _seconds(dt.datetime.combine(value, dt.time()))
    if isinstance(value, dt.time):
        return round(value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6)
    return round(value.total_seconds()) if isinstance(value, dt.timedelta) else None


def _or_serial(seconds: int | None, value: Value) -> int | None:
    """A plain number beside a moment is its serial number: the same value in a cell without a date format."""
    if seconds is not None or isinstance(value, str):
        return seconds
    days = number(value)
    return None if days is None or abs(days) > 1e9 else round(days * _DAY)


def _reduced(value: Value) -> Value:
    if isinstance(value, int | float):
        return _rounded(value)
    if isinstance(value, dt.time):
        return str(value)[:-3]
    if isinstance(value, dt.datetime):
        since = value.replace(tzinfo=None) - _EPOCH
        return float(round(since.days + since.seconds / _DAY))
    if isinstance(value, str):
        try:
            return _rounded(float(value))
        except ValueError:
            return value
    return value


def _rounded(value: float) -> float:
    try:
        return round(float(value), 2)
    except OverflowError:
        return math.inf
