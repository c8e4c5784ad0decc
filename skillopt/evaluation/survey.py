"""What a person should know of their data before anything is paid: how it was read, cut, and what it can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillopt.envs.base import DataSource
from skillopt.envs.own.adapter import Own
from skillopt.envs.own.table import Row, Table, label_of
from skillopt.evaluation.statistics import detectable_lift

_ENOUGH_VALIDATION = 20
_ENOUGH_TEST = 100


def survey(benchmark: Own, source: DataSource, *, scorer_given: bool) -> tuple[str, ...]:
    """The lines to show for data in one file; data that comes already cut is described by its sizes alone."""
    source = replace(source, split_output_dir="")
    if benchmark.already_cut(source):
        splits = benchmark.rows(source)
        return (f"{_sizes(splits)} (as given)", *_power(splits))
    table = benchmark.table(source)
    splits = benchmark.cut(table, source)
    lines = [
        f"{benchmark.where(source)}: {len(table.rows)} examples; {_columns(table)}; {_scorer(table, scorer_given)}"
    ]
    balanced = f", balanced by {_balance(table)}" if table.stratified else ""
    lines.append(f"{_sizes(splits)}{balanced} (ratio {source.split_ratio}, seed {source.split_seed})")
    return (*lines, *table.notes, *_absent_labels(table, splits), *_power(splits))


def _columns(table: Table) -> str:
    fields = table.fields
    names = {"input": " and ".join(map(repr, fields.input)), "answer": repr(fields.answer) if fields.answer else "none"}
    return ", ".join(f"{role} {name}{' (guessed)' * (role in fields.guessed)}" for role, name in names.items())


def _scorer(table: Table, given: bool) -> str:
    return f"scorer {table.scorer}{'' if given else ' (guessed)'}"


def _balance(table: Table) -> str:
    labels = Counter(label_of(row) for row in table.rows)
    return f"{table.fields.label or table.fields.answer!r} ({len(labels)} labels)"


def _sizes(splits: Mapping[str, Sequence[Row]]) -> str:
    return f"{len(splits['train'])} train, {len(splits['val'])} validation, {len(splits['test'])} test items"


def _absent_labels(table: Table, splits: Mapping[str, Sequence[Row]]) -> tuple[str, ...]:
    """A label that training never meets cannot be learned; one that the test never meets is not measured."""
    if not table.stratified:
        return ()
    everywhere = {label_of(row) for row in table.rows}
    lines: list[str] = []
    for name, word in (("train", "training"), ("val", "validation"), ("test", "test")):
        absent = sorted(everywhere - {label_of(row) for row in splits[name]})
        if absent:
            some = ", ".join(map(repr, absent[:8])) + (" ..." if len(absent) > 8 else "")
            lines.append(f"no {word} item has the label {some}: add examples of it")
    return tuple(lines)


def _power(splits: Mapping[str, Sequence[Row]]) -> tuple[str, ...]:
    """Said only where there is little."""
    lines: list[str] = []
    val, test = len(splits["val"]), len(splits["test"])
    if 0 < val < _ENOUGH_VALIDATION:
        lines.append(f"little data: each validation item is worth {100 / val:.0f} points, so the gate will be noisy")
    if test < _ENOUGH_TEST:
        lift = detectable_lift(test)
        known = f"a lift below about {100 * lift:.0f} points" if lift else "no lift at all"
        more = "may pass unnoticed" if lift else "can be told from chance"
        lines.append(
            f"little data: on {test} test items {known} {more} (from 50%, 95% confidence, 80% power; 93 items show 20 "
            "points, 388 show 10)"
        )
    return tuple(lines)
