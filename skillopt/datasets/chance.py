"""Exact tests for small numbers: how likely is so lopsided a count by chance alone."""

from __future__ import annotations

import math


def at_least(hits: int, tries: int, share: float) -> float:
    """The chance of `hits` or more in `tries`, each a hit with this share (the binomial tail)."""
    if hits <= 0:
        return 1.0
    if not 0.0 < share < 1.0:
        return float(share >= 1.0)
    logs = (_choose(tries, k) + k * math.log(share) + (tries - k) * math.log1p(-share) for k in range(hits, tries + 1))
    return min(1.0, math.fsum(math.exp(value) for value in logs))


def drawn_at_least(hits: int, draws: int, marked: int, total: int) -> float:
    """The chance of `hits` or more marked ones among `draws` from `total`, without putting back (Fisher's tail)."""
    most = min(draws, marked)
    if hits <= max(0, draws + marked - total):
        return 1.0
    whole = _choose(total, draws)
    logs = (_choose(marked, k) + _choose(total - marked, draws - k) - whole for k in range(hits, most + 1))
    return min(1.0, math.fsum(math.exp(value) for value in logs))


def _choose(n: int, k: int) -> float:
    if k < 0 or k > n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
