"""Finished runs side by side on the same test items: the difference pair by pair, by kind, with spend and decisions.

Runs that were tested on different items are refused: their scores differ by the items too, and nobody can say how much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from skillopt.claims.figures import OVERALL, metric_of
from skillopt.claims.ledger import TEST, Ledger, setting
from skillopt.errors import JournalError
from skillopt.evaluation.report import Metric
from skillopt.evaluation.statistics import Interval, mean_interval, paired_bootstrap
from skillopt.types import JSON, Rollout, Usage


@dataclass(frozen=True, slots=True)
class Contender:
    """One run: its test score, what was decided on the way, and what it spent."""

    name: str
    score: Interval
    seed: Interval | None
    target: str
    decisions: Mapping[str, int]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Difference:
    """`second` minus `first` on the items of one kind; `won` and `lost` count items, seen from the second."""

    first: str
    second: str
    kind: str
    change: Interval
    won: int
    lost: int


@dataclass(frozen=True, slots=True)
class Comparison:
    metric: Metric
    items: int
    runs: tuple[Contender, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, JSON]:
        return asdict(self)


def compare(runs: Mapping[str, Ledger]) -> Comparison:
    """Compare every later run with the first one."""
    if len(runs) < 2:
        raise JournalError("a comparison needs at least two different runs.")
    names = list(runs)
    metrics = {metric_of(ledger) for ledger in runs.values()}
    metric: Metric = "soft" if metrics == {"soft"} else "hard"
    tested = {name: _tested(name, ledger) for name, ledger in runs.items()}
    items = _same_items(tested)
    differences = [
        difference
        for name in names[1:]
        for difference in _differences(names[0], name, tested[names[0]], tested[name], metric)
    ]
    contenders = tuple(_contender(name, ledger, tested[name], metric) for name, ledger in runs.items())
    return Comparison(metric, items, contenders, tuple(differences), _notes(contenders))


def _tested(name: str, ledger: Ledger) -> dict[str, Rollout]:
    found = ledger.drawn(TEST).get(ledger.best.digest)
    if ledger.view.finished is None or not found:
        raise JournalError(f"{name} has no test result: it has not finished, or its test split was not opened.")
    return found


def _same_items(tested: Mapping[str, Mapping[str, Rollout]]) -> int:
    first, *rest = tested.items()
    for name, rows in rest:
        shared = len(rows.keys() & first[1].keys())
        if rows.keys() != first[1].keys():
            raise JournalError(
                f"{first[0]} and {name} were tested on different items: {len(first[1])} and {len(rows)}, of which "
                f"{shared} are shared. Compare runs with the same data, split and evaluation.test_env_num."
            )
    return len(first[1])


def _differences(
    first: str, second: str, before: Mapping[str, Rollout], after: Mapping[str, Rollout], metric: Metric
) -> list[Difference]:
    both = [i for i in sorted(before) if before[i].score is not None and after[i].score is not None]
    kinds = sorted({before[i].kind for i in both})
    groups = {OVERALL: both}
    if len(kinds) > 1:
        groups |= {kind or "other": [i for i in both if before[i].kind == kind] for kind in kinds}
    found: list[Difference] = []
    for kind, items in groups.items():
        if not items:
            continue
        left, right = ([_value(rows[i], metric) for i in items] for rows in (before, after))
        won = sum(b > a for a, b in zip(left, right, strict=True))
        lost = sum(b < a for a, b in zip(left, right, strict=True))
        found.append(Difference(first, second, kind, paired_bootstrap(left, right), won, lost))
    return found


def _contender(name: str, ledger: Ledger, rows: Mapping[str, Rollout], metric: Metric) -> Contender:
    scored = [_value(row, metric) for _, row in sorted(rows.items()) if row.score is not None]
    seed_rows = ledger.drawn(TEST).get(ledger.seed.digest, {})
    seed = [_value(row, metric) for _, row in sorted(seed_rows.items()) if row.score is not None]
    actions = Counter(
        each.decision.action for each in ledger.judged if each.decision.action not in ("baseline", "final")
    )
    return Contender(
        name=name,
        score=mean_interval(scored),
        seed=mean_interval(seed) if seed else None,
        target=str(setting(ledger.view, "model", "target") or ""),
        decisions=dict(sorted(actions.items())),
        usage=sum(ledger.view.usage.values(), Usage()),
    )


def _notes(runs: Sequence[Contender]) -> tuple[str, ...]:
    targets = {run.target for run in runs}
    return (f"the runs have different target models: {', '.join(sorted(targets))}",) if len(targets) > 1 else ()


def _value(row: Rollout, metric: Metric) -> float:
    assert row.score is not None
    return row.score.hard if metric == "hard" else row.score.soft
