"""The selection score without the winner's curse: what the chosen document would score on its items a second time.

The best document is the luckiest as well as the best. Every measured document is one node of a tree (its parent is the
document it was made from); true scores move along the edges, mostly not at all, and each measurement adds noise that
the next one does not repeat. The posterior of that model answers the question, whatever rule did the choosing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

_SWEEPS = 400
_WARM = 50
_SPIKE = 0.003
"""Standard deviation of an edit that does nothing: a hundredth of a score is a change."""
_IDLE = (1.0, 1.0)
"""Beta prior of the share of such edits."""
_SPREAD, _SPREAD_WEIGHT = 0.06, 2.0
"""Typical size of the others, and for how many edits this guess counts."""
_NOISE, _NOISE_WEIGHT = 0.05, 12.0
"""Typical variance of one outcome (a tenth of the items at even odds is 0.025), and for how many outcomes it counts."""
_LEAST_NOISE = 0.002
_WIDER = 1.35
"""The model's own interval covers 88% instead of 95% in simulated runs (benchmarks/claims.py): this makes up for it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One document: the index of its parent (None for the seed) and its outcome on each item it met."""

    parent: int | None
    outcomes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Corrected:
    """`naive` is the score that won; `value` what to expect of a second measurement, with its 95% interval.

    `noise` is the variance of a single outcome that the correction reckoned with.
    """

    naive: float
    value: float
    low: float
    high: float
    n: int
    noise: float
    documents: int


def corrected(
    nodes: Sequence[Measured], best: int, *, noise: float | None = None, seed: int = 0, sweeps: int = _SWEEPS
) -> Corrected:
    """The shrunk score of `nodes[best]`. Parents stand before their children; `noise` comes from a calibration."""
    naive, n = fmean(nodes[best].outcomes.values()), len(nodes[best].outcomes)
    level = max(_LEAST_NOISE, noise if noise is not None else outcome_noise(nodes))
    tree = _Tree.of(nodes)
    random, edges = Random(seed), _Edges([k % 2 == 0 for k in range(len(nodes) - 1)])
    means: list[float] = []
    draws: list[float] = []
    for sweep in range(_WARM + sweeps):
        informed = tree.gathered(edges, level)
        scores = informed.drawn(random)
        if sweep >= _WARM:
            means.append(informed.mean(best))
            draws.append(scores[best])
        edges.redraw([s - scores[p] for s, p in zip(scores[1:], tree.parents[1:], strict=True)], random)
    draws.sort()
    value = fmean(means)
    ends = (draws[round(share * (len(draws) - 1))] for share in (0.025, 0.975))
    low, high = (_bounded(value + _WIDER * (end - value)) for end in ends)
    return Corrected(naive, _bounded(value), low, high, n, level, len(nodes))


def outcome_noise(nodes: Sequence[Measured]) -> float:
    """The variance of one outcome around its expectation, from documents that were never measured twice.

    Two neighbours of a document differ from it by their own edits and, both alike, by its luck: the covariance of the
    two differences over the items is that luck's variance. A weak guess joins in, for small runs.
    """
    total = weight = 0.0
    for middle, around in enumerate(_neighbours(nodes)):
        for k in range(1, len(around)):
            found = _covariance(nodes[middle], nodes[around[k - 1]], nodes[around[k]])
            if found is not None:
                total, weight = total + found[0] * found[1], weight + found[1]
    seen = max(0.0, total / weight) if weight else 0.0
    return (seen * weight + _NOISE * _NOISE_WEIGHT) / (weight + _NOISE_WEIGHT)


def _neighbours(nodes: Sequence[Measured]) -> list[list[int]]:
    around: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        if node.parent is not None:
            around[index].append(node.parent)
            around[node.parent].append(index)
    return around


def _covariance(middle: Measured, one: Measured, two: Measured) -> tuple[float, int] | None:
    shared = [i for i in middle.outcomes if i in one.outcomes and i in two.outcomes]
    if len(shared) < 2:
        return None
    first = [one.outcomes[i] - middle.outcomes[i] for i in shared]
    second = [two.outcomes[i] - middle.outcomes[i] for i in shared]
    a, b = fmean(first), fmean(second)
    products = sum((x - a) * (y - b) for x, y in zip(first, second, strict=True))
    return products / (len(shared) - 1), len(shared)


@dataclass(slots=True)
class _Edges:
    """What is believed of each edit: whether it does anything, and how large those are that do."""

    idle: list[bool]
    spread: float = _SPREAD**2
    share: float = 0.5

    @property
    def size(self) -> int:
        return len(self.idle)

    def variance(self, edge: int) -> float:
        return _SPIKE**2 if self.idle[edge] else self.spread

    def redraw(self, changes: Sequence[float], random: Random) -> None:
        still, moved = _SPIKE**2, self.spread
        for edge, change in enumerate(changes):
            odds = math.log(self.share / (1 - self.share)) + 0.5 * math.log(moved / still)
            odds -= 0.5 * change * change * (1 / still - 1 / moved)
            self.idle[edge] = random.random() < _sigmoid(odds)
        n = sum(self.idle)
        share = random.betavariate(_IDLE[0] + n, _IDLE[1] + self.size - n)
        self.share = min(0.98, max(0.02, share))
        squares = sum(c * c for c, idle in zip(changes, self.idle, strict=True) if not idle)
        shape = (_SPREAD_WEIGHT + self.size - n) / 2 + 1
        self.spread = (squares + _SPREAD_WEIGHT * _SPREAD**2) / 2 / random.gammavariate(shape, 1.0)


@dataclass(frozen=True, slots=True)
class _Tree:
    """Scores as measured, their variances in units of one outcome's, and who came from whom."""

    parents: tuple[int, ...]
    scores: tuple[float, ...]
    variances: tuple[float, ...]

    @classmethod
    def of(cls, nodes: Sequence[Measured]) -> _Tree:
        """A document that met only some items is placed by its difference from its parent on those."""
        scores: list[float] = []
        variances: list[float] = []
        for node in nodes:
            above = nodes[node.parent] if node.parent is not None else None
            shared = [i for i in node.outcomes if above and i in above.outcomes]
            m = max(1, len(shared) or len(node.outcomes))
            if above is None or node.parent is None or not shared:
                scores.append(fmean(node.outcomes.values()))
                variances.append(1 / m)
                continue
            change = fmean(node.outcomes[i] - above.outcomes[i] for i in shared)
            scores.append(scores[node.parent] + change)
            variances.append(1 / m + max(0.0, 1 / m - 1 / len(above.outcomes)))
        return cls(tuple(n.parent if n.parent is not None else -1 for n in nodes), tuple(scores), tuple(variances))

    def gathered(self, edges: _Edges, noise: float) -> _Informed:
        """What every node knows from itself and everything below it, as precision and weighted sum."""
        precision = [1 / (noise * v) for v in self.variances]
        weighted = [s * p for s, p in zip(self.scores, precision, strict=True)]
        spreads = [1.0, *(edges.variance(edge) for edge in range(edges.size))]
        for k in range(len(self.parents) - 1, 0, -1):
            told = 1 / (1 / precision[k] + spreads[k])
            above = self.parents[k]
            weighted[above] += told * weighted[k] / precision[k]
            precision[above] += told
        return _Informed(self.parents, precision, weighted, spreads)


@dataclass(frozen=True, slots=True)
class _Informed:
    parents: tuple[int, ...]
    precision: Sequence[float]
    weighted: Sequence[float]
    spreads: Sequence[float]

    def drawn(self, random: Random) -> list[float]:
        """All true scores, drawn together from what is known."""
        scores: list[float] = []
        for k, above in enumerate(self.parents):
            prior = scores[above] if k else 0.5
            total = self.precision[k] + 1 / self.spreads[k]
            mean = (self.weighted[k] + prior / self.spreads[k]) / total
            scores.append(random.gauss(mean, 1 / math.sqrt(total)))
        return scores

    def mean(self, best: int) -> float:
        path = [best]
        while path[-1] != 0:
            path.append(self.parents[path[-1]])
        mean = 0.5
        for k in reversed(path):
            total = self.precision[k] + 1 / self.spreads[k]
            mean = (self.weighted[k] + mean / self.spreads[k]) / total
        return mean


def _sigmoid(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))
