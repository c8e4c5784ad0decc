"""A user's rows in the one shape the benchmark works with, each problem named by its place in the user's own file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from skillopt.datasets.sources import Placed
from skillopt.envs.own.call_score import ScoreFunction
from skillopt.envs.own.columns import Fields, Wanted, fields_of, labels_of, scorer_for
from skillopt.envs.own.grading import Case
from skillopt.envs.own.scoring import ANSWERLESS, grader, kind_of
from skillopt.errors import DataError
from skillopt.types import JSON, canonical

Row = dict[str, JSON]

_SHOWN = 20
_LONG = 200_000


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as `{id, input, answer, scorer, label?, choices?, columns}`, how they were read, and what to know of it."""

    rows: tuple[Row, ...]
    fields: Fields
    scorer: str
    choices: tuple[str, ...] = ()
    stratified: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table is to be read."""

    where: str
    wanted: Wanted
    scorer: str = ""
    function: ScoreFunction | None = None


def read_table(placed: Sequence[Placed], how: Reading, *, distinct: bool = True) -> Table:
    """Map and check all rows, or raise one `DataError`. With `distinct`, a row that repeats another is left out."""
    if not placed:
        raise DataError(f"{how.where}: there are no rows; it needs one row for each example.")
    fields = fields_of([p.row for p in placed], how.wanted, how.where)
    _refuse_gaps(placed, fields, how)
    answers = [_value(p.row.get(fields.answer)) for p in placed] if fields.answer else []
    scorer = how.scorer or scorer_for(answers)
    choices = labels_of(answers)
    rows = [_row(number, p, fields, scorer, choices) for number, p in enumerate(placed, start=1)]
    if how.function is None and kind_of(scorer) not in ANSWERLESS:
        _refuse_answers(rows, placed, scorer, how.where)
    kept, notes = _without_repeats(rows) if distinct else (rows, ())
    labelled = bool(fields.label or choices)
    return Table(tuple(kept), fields, scorer, choices, labelled, (*notes, *_long(kept)))


def label_of(row: Mapping[str, JSON]) -> str:
    return str(row.get("label") or "")


def _row(number: int, placed: Placed, fields: Fields, scorer: str, choices: tuple[str, ...]) -> Row:
    raw = placed.row
    given = raw.get("id")
    one = len(fields.input) == 1
    row: Row = {
        "id": str(given) if given not in (None, "") else f"row-{number}",
        "input": _value(raw[fields.input[0]]) if one else {name: _value(raw[name]) for name in fields.input},
        "answer": _value(raw.get(fields.answer)) if fields.answer else None,
        "scorer": scorer,
        "columns": {k: v for k, v in raw.items() if k not in (fields.answer, "id")},
    }
    label = raw.get(fields.label) if fields.label else row["answer"] if choices else None
    if label is not None:
        row["label"] = str(label).strip()
    return row | ({"choices": list(choices)} if kind_of(scorer) == "choice" and choices else {})


def _value(value: JSON) -> JSON:
    return value.strip() if isinstance(value, str) else value


def _refuse_gaps(placed: Sequence[Placed], fields: Fields, how: Reading) -> None:
    """An empty input or answer cell, named by its row."""
    roles = [(name, "input") for name in fields.input[:1]]
    roles += [(fields.answer, "answer")] if fields.answer and not how.wanted.answerless else []
    roles += [(fields.label, "label")] if fields.label else []
    found = [
        f"{how.where}, {p.place}: the {role} ({name!r}) is {'empty' if name in p.row else 'missing'}; fill it in or "
        "delete the row"
        for p in placed
        for name, role in dict(roles).items()
        if _blank(p.row.get(name))
    ]
    _raise(found)


def _refuse_answers(rows: Sequence[Row], placed: Sequence[Placed], scorer: str, where: str) -> None:
    """An answer that its scorer could never accept."""
    judge = grader(scorer)
    cases = [(p, Case(row["answer"], tuple(row.get("choices") or ()))) for p, row in zip(placed, rows, strict=True)]
    found = [f"{where}, {p.place}: scorer {scorer}: {said}" for p, case in cases if (said := judge.complaint(case))]
    _raise(found)


def _raise(problems: Sequence[str]) -> None:
    if problems:
        rest = len(problems) - _SHOWN
        raise DataError((*problems[:_SHOWN], *((f"and {rest} more like these",) if rest > 0 else ())))


def _without_repeats(rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """The same example in two splits would make the measured gain worthless, so one of them is enough."""
    kept = list({canonical([row["input"], row["answer"]]): row for row in reversed(rows)}.values())[::-1]
    notes: list[str] = []
    if repeats := len(rows) - len(kept):
        notes.append(f"{repeats} rows repeat an earlier one and are left out")
    seen = Counter(canonical(row["input"]) for row in kept)
    if torn := sum(1 for count in seen.values() if count > 1):
        notes.append(f"{torn} inputs stand there with more than one answer: no skill can get all of these right")
    return kept, tuple(notes)


def _long(rows: Sequence[Row]) -> tuple[str, ...]:
    sizes = {str(row["id"]): len(canonical(row["input"])) for row in rows}
    longest = max(sizes, key=lambda id: sizes[id])
    if sizes[longest] <= _LONG:
        return ()
    count = sum(1 for size in sizes.values() if size > _LONG)
    return (
        f"{count} {'input is' if count == 1 else 'inputs are'} longer than {_LONG:,} characters (the longest, "
        f"{longest}, has {sizes[longest]:,}): many "
        "models refuse so long a prompt, and such items then count as missing",
    )


def _blank(value: JSON) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, (list, dict)) and not cast("list[JSON]", value))
