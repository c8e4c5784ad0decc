"""What this data can show before money is spent on it: the seed document scored twice says how much is luck.

Nothing but chance differs between the two passes, so every item that changed its outcome is flaky, and the size of
such changes is the noise floor of every later comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist, fmean

from skillopt.claims.ledger import Ledger
from skillopt.evaluation.objective import Objective
from skillopt.evaluation.statistics import LEVEL, POWER, Interval, mean_interval, wilson
from skillopt.types import Rollout

PASSES = ("aa-1", "aa-2")
"""The draws of the two passes."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """`noise` is the variance of one outcome; `floor` the standard deviation of a difference of two measurements.

    `smallest` is the least lift that `test_items` items show with 80% power at 95% confidence; None when none would.
    """

    items: int
    changed: int
    score: Interval
    flaky: Interval
    noise: float
    floor: float
    test_items: int
    smallest: float | None
    hoped: float
    needed: int


def calibrated(
    first: Mapping[str, Rollout], second: Mapping[str, Rollout], objective: Objective, *, test: int, hoped: float
) -> Calibration | None:
    """From two passes over the same items; None when no item has a result in both."""
    one, two = _values(first, objective), _values(second, objective)
    both = sorted(one.keys() & two.keys())
    if not both:
        return None
    squares = [(one[i] - two[i]) ** 2 for i in both]
    changed = sum(square > 0 for square in squares)
    flips, n = fmean(squares), len(both)
    return Calibration(
        items=n,
        changed=changed,
        score=mean_interval([(one[i] + two[i]) / 2 for i in both]),
        flaky=wilson(changed, n),
        noise=flips / 2,
        floor=math.sqrt(flips / n),
        test_items=test,
        smallest=smallest_lift(test, flips),
        hoped=hoped,
        needed=items_needed(hoped, flips),
    )


def from_ledger(ledger: Ledger, *, test: int, hoped: float) -> Calibration | None:
    """The calibration that a finished pair of passes amounts to."""
    one, two = (ledger.drawn(draw).get(ledger.seed.digest, {}) for draw in PASSES)
    return calibrated(one, two, ledger.objective, test=test, hoped=hoped)


def items_needed(lift: float, flips: float) -> int:
    """Items that show a lift with 80% power: pairs that differ by chance (`flips`) or by the lift make the noise."""
    if not 0 < lift <= 1:
        raise ValueError("a lift lies between 0 and 1")
    normal = NormalDist()
    spread = min(1.0, flips + lift)
    sure = normal.inv_cdf((1 + LEVEL) / 2) * math.sqrt(spread)
    strong = normal.inv_cdf(POWER) * math.sqrt(max(0.0, spread - lift * lift))
    return max(1, math.ceil(((sure + strong) / lift) ** 2))


def smallest_lift(n: int, flips: float) -> float | None:
    """The least lift for which n items are enough; None when not even a lift to everything is."""
    if n < 1 or items_needed(1.0, flips) > n:
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if items_needed(middle, flips) > n else (low, middle)
    return high


def in_words(found: Calibration) -> tuple[str, ...]:
    """The calibration as sentences."""
    share = f"{found.changed} of {found.items} items changed their outcome between two passes with the same document"
    bounds = f"{100 * found.flaky.low:.0f}% to {100 * found.flaky.high:.0f}% of all such items would"
    floor = f"Two measurements of one document on {found.items} items differ by {100 * found.floor:.1f} points"
    if found.smallest is None:
        power = f"{found.test_items} test items cannot certify any lift."
    else:
        power = f"{found.test_items} test items show a lift of {100 * found.smallest:.0f} points or more"
        power += " (95% confidence, 80% power); smaller ones may pass unnoticed."
    return (
        f"The seed scores {found.score.value:.2f} ({found.score.low:.2f} to {found.score.high:.2f}).",
        f"{share}; {bounds}.",
        f"{floor} by chance alone (one standard deviation).",
        power,
        f"For a lift of {100 * found.hoped:.0f} points the test split needs about {found.needed} items.",
    )


def _values(rows: Mapping[str, Rollout], objective: Objective) -> dict[str, float]:
    return {item: objective.of_item(row.score) for item, row in rows.items() if row.score is not None}
