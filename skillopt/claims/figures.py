"""Every number that a report shows, computed from the journal: one place, so that `verify` can compute it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from skillopt.claims.calibration import Calibration
from skillopt.claims.ledger import TEST, VAL, Ledger
from skillopt.claims.selection import Corrected, corrected
from skillopt.evaluation.report import Metric, scores
from skillopt.evaluation.statistics import Interval, mean_interval, paired_bootstrap
from skillopt.journal.records import finite, token_record
from skillopt.skill.document import Skill
from skillopt.types import JSON, Rollout, Usage

OVERALL = "all"
REPLICATE = "replicate-1"
"""The draw of the best document's second measurement."""


@dataclass(frozen=True, slots=True)
class Lift:
    """Seed and best on the test items of one kind; `change` is over the items with a result on both sides."""

    kind: str
    before: Interval
    after: Interval
    change: Interval


@dataclass(frozen=True, slots=True)
class Point:
    """One decision on the score curve; `score` is the candidate's, `best` what stood after it."""

    at: str
    action: str
    score: Interval | None
    best: float | None
    bar: float | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection score of the best document: as it won, shrunk, and measured afresh where somebody asked."""

    shrunk: Corrected
    seed: Interval
    replicate: Interval | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    metric: Metric
    lifts: tuple[Lift, ...]
    curve: tuple[Point, ...]
    selection: Selection | None
    spend: Mapping[str, Usage]
    calibration: Calibration | None = None

    @property
    def overall(self) -> Lift | None:
        return self.lifts[0] if self.lifts else None

    def to_dict(self) -> dict[str, JSON]:
        """Plain values, as they stand in the report for machines and for `verify`."""
        return finite(
            {
                "metric": self.metric,
                "lifts": [asdict(lift) for lift in self.lifts],
                "curve": [asdict(point) for point in self.curve],
                "selection": asdict(self.selection) if self.selection else None,
                "spend": {stage: token_record(usage) for stage, usage in self.spend.items()},
                "calibration": asdict(self.calibration) if self.calibration else None,
            }
        )


def figures(ledger: Ledger, calibration: Calibration | None = None, replicate: Ledger | None = None) -> Figures:
    """All figures of a run, and of the measurements beside it where there are any."""
    metric = metric_of(ledger)
    return Figures(
        metric=metric,
        lifts=lifts(ledger, metric),
        curve=_curve(ledger),
        selection=_selection(ledger, calibration, replicate),
        spend=dict(ledger.view.usage),
        calibration=calibration,
    )


def metric_of(ledger: Ledger) -> Metric:
    """Test scores are shown in the score that the gate compared; a mixed one is shown as hard."""
    return "soft" if ledger.objective.metric == "soft" else "hard"


def lifts(ledger: Ledger, metric: Metric) -> tuple[Lift, ...]:
    """The test lift over all items, then by kind of task; none where the test split was not opened."""
    rows = [row.rollout for row in ledger.rows if row.rollout.draw == TEST]
    seed, best = ledger.seed.digest, ledger.best.digest
    if ledger.view.finished is None:
        return ()
    kinds = sorted({row.kind for row in rows})
    groups = [(OVERALL, rows)]
    if len(kinds) > 1:
        groups += [(kind or "other", [row for row in rows if row.kind == kind]) for kind in kinds]
    found = (_lift(kind, group, seed, best, metric) for kind, group in groups)
    return tuple(lift for lift in found if lift is not None)


def _lift(kind: str, rows: Sequence[Rollout], seed: str, best: str, metric: Metric) -> Lift | None:
    before, after = scores(rows, seed, metric), scores(rows, best, metric)
    both = [item for item in before if item in after]
    if not both:
        return None
    if seed == best:
        # One document, one set of results: there is nothing uncertain about no change.
        change = Interval(0.0, 0.0, 0.0, len(both))
    else:
        change = paired_bootstrap([before[i] for i in both], [after[i] for i in both])
    return Lift(kind, mean_interval([*before.values()]), mean_interval([*after.values()]), change)


def _curve(ledger: Ledger) -> tuple[Point, ...]:
    drawn, objective = ledger.drawn(VAL), ledger.objective
    points: list[Point] = []
    for judged in ledger.judged:
        decision = judged.decision
        if decision.action == "final":
            continue
        name = Skill.parse(decision.candidate).digest
        rows = drawn.get(name, {}) if decision.tally is not None else {}
        values = [objective.of_item(row.score) for row in rows.values() if row.score is not None]
        score = mean_interval(sorted(values)) if values else None
        points.append(Point(decision.at, decision.action, score, judged.after.best_score, decision.bar))
    return tuple(points)


def _selection(ledger: Ledger, calibration: Calibration | None, replicate: Ledger | None) -> Selection | None:
    nodes, best = ledger.tree()
    if best is None:
        return None
    noise = calibration.noise if calibration else None
    seed = mean_interval(sorted(nodes[0].outcomes.values()))
    return Selection(corrected(nodes, best, noise=noise), seed, _again(ledger, replicate))


def _again(ledger: Ledger, replicate: Ledger | None) -> Interval | None:
    """The best document's score in a measurement of its own."""
    if replicate is None:
        return None
    rows = replicate.drawn(REPLICATE).get(ledger.best.digest, {})
    values = [ledger.objective.of_item(row.score) for row in rows.values() if row.score is not None]
    return mean_interval(sorted(values)) if values else None
