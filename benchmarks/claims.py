"""Are the claims honest? Whole runs simulated, with the real estimators: coverage of the test lift's interval, and bias
of the corrected selection score.

    python benchmarks/claims.py [--runs 500]

A run: n selection items of which a share is flaky (outcome by coin), K candidates (half do nothing, three in ten mend
failing items, two in ten break passing ones), the strict gate. The best document is then tested on n fresh items.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random
from statistics import fmean, stdev

from skillopt.claims.selection import Measured, corrected
from skillopt.evaluation.statistics import Interval, bootstrap, paired_bootstrap

SIZES = ((17, 4), (40, 8), (200, 40))
FLAKY = (0.1, 0.4)
RESAMPLES = 1000
"""Enough for a 95% interval, and ten times quicker than the default."""


@dataclass(slots=True)
class Item:
    """Whether its outcome is a coin toss, and whether the document in force masters it."""

    flaky: bool
    mastered: bool

    def chance(self) -> float:
        return 0.5 if self.flaky else float(self.mastered)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one simulated run said, and what was true."""

    naive: float
    value: float
    covered: bool
    truth: float
    lift: Interval
    plain: Interval
    true_lift: float
    kept: int


@dataclass(frozen=True, slots=True)
class Edit:
    """The share of failing items it mends and of passing items it breaks."""

    mends: float = 0.0
    breaks: float = 0.0

    def on(self, items: Sequence[Item], random: Random) -> list[Item]:
        return [Item(i.flaky, self._after(i, random.random())) for i in items]

    def _after(self, item: Item, luck: float) -> bool:
        return (item.mastered and luck >= self.breaks) or (not item.mastered and luck < self.mends)


def proposal(random: Random) -> Edit:
    kind, size = random.random(), random.uniform(0.05, 0.25)
    return Edit() if kind < 0.5 else Edit(mends=size) if kind < 0.8 else Edit(breaks=size)


def measured(items: Sequence[Item], random: Random) -> list[float]:
    return [float(random.random() < item.chance()) for item in items]


def simulate(n: int, candidates: int, flaky: float, seed: int) -> Outcome:
    random = Random(f"{n}/{candidates}/{flaky}/{seed}")
    items = [Item(random.random() < flaky, random.random() < 0.5) for _ in range(n)]
    test = [Item(random.random() < flaky, random.random() < 0.5) for _ in range(n)]
    first = measured(items, random)
    nodes, documents, best, edits = [_node(None, first)], [items], 0, list[Edit]()
    bar = fmean(first)
    for _ in range(candidates):
        edit = proposal(random)
        changed = edit.on(documents[best], random)
        outcomes = measured(changed, random)
        nodes.append(_node(best, outcomes))
        documents.append(changed)
        if fmean(outcomes) > bar:
            best, bar = len(nodes) - 1, fmean(outcomes)
            edits.append(edit)
    found = corrected(nodes, best, sweeps=150)
    truth = fmean(item.chance() for item in documents[best])
    return _tested(test, edits, random, found.naive, found.value, found.low <= truth <= found.high, truth, flaky)


def _tested(
    test: list[Item],
    edits: list[Edit],
    random: Random,
    naive: float,
    value: float,
    covered: bool,
    truth: float,
    flaky: float,
) -> Outcome:
    after, share = test, 0.5
    for edit in edits:
        after = edit.on(after, random)
        share = share * (1 - edit.breaks) + (1 - share) * edit.mends
    old, new = measured(test, random), measured(after, random)
    lift = paired_bootstrap(old, new, resamples=RESAMPLES)
    differences = [b - a for a, b in zip(old, new, strict=True)]
    plain = bootstrap(differences, resamples=RESAMPLES, support=(-1.0, 1.0))
    return Outcome(naive, value, covered, truth, lift, plain, (1 - flaky) * (share - 0.5), len(edits))


def _node(parent: int | None, outcomes: Sequence[float]) -> Measured:
    return Measured(parent, {str(i): value for i, value in enumerate(outcomes)})


def cell(job: tuple[int, int, float, int]) -> list[Outcome]:
    n, candidates, flaky, runs = job
    return [simulate(n, candidates, flaky, seed) for seed in range(runs)]


def covers(outcomes: Sequence[Outcome], interval: Callable[[Outcome], Interval]) -> float:
    """The share of runs that kept something whose interval holds the truth."""
    kept = [o for o in outcomes if o.kept]
    return 100 * fmean(interval(o).low - 1e-9 <= o.true_lift <= interval(o).high + 1e-9 for o in kept)


def row(job: tuple[int, int, float, int], outcomes: Sequence[Outcome]) -> str:
    errors = [100 * (o.value - o.truth) for o in outcomes]
    naive = fmean(100 * (o.naive - o.truth) for o in outcomes)
    doubt = stdev(errors) / math.sqrt(len(errors))
    share = 100 * fmean(o.covered for o in outcomes)
    return (
        f"| {job[0]}, {job[1]} | {job[2]:.0%} | {naive:+.1f} | {fmean(errors):+.2f} ± {doubt:.2f} | {share:.1f}% | "
        f"{covers(outcomes, lambda o: o.lift):.1f}% | {covers(outcomes, lambda o: o.plain):.1f}% |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    jobs = [(n, k, flaky, runs) for n, k in SIZES for flaky in FLAKY]
    print(f"{runs} runs each; bias in points, wanted below 1; coverage of 95% intervals, wanted at least 93%")
    print(
        "| items, candidates | flaky | bias as it won | bias corrected | its interval | test lift | plain bootstrap |"
    )
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(2) as pool:
        for job, outcomes in zip(jobs, pool.map(cell, jobs), strict=True):
            print(row(job, outcomes), flush=True)


if __name__ == "__main__":
    main()
