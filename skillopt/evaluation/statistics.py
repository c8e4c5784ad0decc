"""How sure a measured number is: intervals for scores and for their paired difference, and what n items can show.

Both skills meet the same items, so the difference is resampled item by item: what makes an item hard for both cancels
out. Plain Python is quick enough for the sizes in question, and the seed makes an interval the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist, fmean

LEVEL = 0.95
POWER = 0.8
_WORK = 4_000_000
"""Draws of one bootstrap, at most: large samples get fewer repetitions, and need fewer."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds it has at the given level; `n` is the number of items behind it."""

    value: float
    low: float
    high: float
    n: int
    level: float = LEVEL


def wilson(passed: float, n: int, level: float = LEVEL) -> Interval:
    """Wilson's score interval for a proportion: sensible at 0 and 1, where the usual one has no width."""
    if n < 1:
        raise ValueError("an interval needs at least one item")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, z2 = passed / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # At the ends the bound is the share itself; arithmetic would miss it by a hair.
    low, high = (0.0 if passed == 0 else centre - half), (1.0 if passed == n else centre + half)
    return Interval(share, low, high, n, level)


def bootstrap(
    values: Sequence[float],
    *,
    seed: int = 0,
    level: float = LEVEL,
    resamples: int = 10_000,
    support: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """The percentile bootstrap of a mean.

    Equal values would come back without any width. What n items did not show may still be a small share of all
    (Wilson's bound for none of n), and `support` says how far off it could lie.
    """
    n = len(values)
    if n < 1:
        raise ValueError("an interval needs at least one item")
    mean = fmean(values)
    if min(values) == max(values):
        unseen = wilson(0, n, level).high
        low, high = (mean + unseen * (bound - mean) for bound in support)
        return Interval(mean, low, high, n, level)
    draw = Random(seed).choices
    times = max(1_000, min(resamples, _WORK // n))
    means = sorted(sum(draw(values, k=n)) / n for _ in range(times))
    tail = (1 - level) / 2
    return Interval(mean, _quantile(means, tail), _quantile(means, 1 - tail), n, level)


def paired_bootstrap(
    before: Sequence[float], after: Sequence[float], *, seed: int = 0, level: float = LEVEL, resamples: int = 10_000
) -> Interval:
    """The mean of `after - before`, item by item, with its bootstrap interval.

    Few items, of which few differ, resample to too narrow an interval (83% instead of 95% for 17 items). Two items more
    are drawn from, half a gain, half a loss and one without change, as Agresti and Min do for a table of pairs: the
    interval then holds what it says from 17 items on (benchmarks/claims.py).
    """
    if len(before) != len(after):
        raise ValueError(f"paired samples differ in length: {len(before)} and {len(after)}")
    differences = [b - a for a, b in zip(before, after, strict=True)]
    if len(set(differences)) < 2:
        return bootstrap(differences, level=level, support=(-1.0, 1.0))
    n, drawn = len(differences), len(differences) + 2
    pool, draw = (*differences, *differences, 1.0, -1.0, 0.0, 0.0), Random(seed).choices
    times = max(1_000, min(resamples, _WORK // n))
    means = sorted(sum(draw(pool, k=drawn)) / drawn for _ in range(times))
    tail = (1 - level) / 2
    return Interval(fmean(differences), _quantile(means, tail), _quantile(means, 1 - tail), n, level)


def mean_interval(values: Sequence[float], *, seed: int = 0, level: float = LEVEL) -> Interval:
    """Wilson's interval where every value is pass or fail, the bootstrap where there is partial credit."""
    if all(value in (0.0, 1.0) for value in values):
        return wilson(sum(values), len(values), level)
    return bootstrap(values, seed=seed, level=level)


def detectable_lift(n: int, *, base: float = 0.5, level: float = LEVEL, power: float = POWER) -> float | None:
    """The smallest rise above `base` that two groups of n would show with this power; None when no rise would.

    It treats the two measurements as independent, so it is on the safe side for a paired comparison.
    """
    high = 1.0 - base
    if n < 1 or _needed(base, high, level, power) > n:
        return None
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _needed(base, middle, level, power) > n else (low, middle)
    return high


def _needed(base: float, lift: float, level: float, power: float) -> float:
    """Items for each of two proportions: the textbook formula with pooled variance under "no difference"."""
    if lift <= 0:
        return math.inf
    normal, after = NormalDist(), base + lift
    pooled = (base + after) / 2
    sure = normal.inv_cdf((1 + level) / 2) * math.sqrt(2 * pooled * (1 - pooled))
    strong = normal.inv_cdf(power) * math.sqrt(base * (1 - base) + after * (1 - after))
    return ((sure + strong) / lift) ** 2


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
