"""Scorers that compare values: number, choice, json_fields."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from skillopt.envs.own.grading import Case, failed, passed, plain, shown, verdict
from skillopt.model.extract import extract_json
from skillopt.types import JSON, Score

_NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_AROUND = " \t\n$€£¥%"
_LEAD = re.compile(r"^.*?\b(?:answer|label|category|class|choice|output)\b\s*(?:is\b|:|=)\s*", re.IGNORECASE)
_RELATIVE = 1e-6


def number_in(text: str) -> float | None:
    """The number a text is, else the last one it names."""
    found = _NUMBER.findall(text)
    return float(found[-1].replace(",", "").replace("−", "-")) if found else None


def whole_number(value: JSON) -> float | None:
    """The number a value is; None when there is anything else in it than a unit of money or a percent sign."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    text = str(value).strip(_AROUND)
    return number_in(text) if _NUMBER.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class Number:
    """The last number of the output equals the answer, give or take `tolerance`."""

    tolerance: float = 1e-9

    def grade(self, output: str, case: Case) -> Score:
        said = number_in(output)
        if said is None:
            return failed(f"no number in the output; expected {_listed(case)}")
        golds = [gold for gold in map(whole_number, _answers(case)) if gold is not None]
        right = any(math.isclose(said, gold, rel_tol=_RELATIVE, abs_tol=self.tolerance) for gold in golds)
        return verdict(right, f"expected the number {_listed(case)}, the output ends with {said:g}")

    def complaint(self, case: Case) -> str:
        bad = [answer for answer in _answers(case) if whole_number(answer) is None]
        return f"{shown(str(bad[0]))} is not a number (write decimals with a point)" if bad else ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One label of a known list. An output that names several, or none, has not chosen."""

    labels: tuple[str, ...] = ()

    def grade(self, output: str, case: Case) -> Score:
        labels = self.labels or case.choices or case.golds
        chosen = chosen_labels(output, labels)
        golds = {plain(gold) for gold in case.golds}
        if len(chosen) == 1:
            right = plain(chosen[0]) in golds
            return verdict(right, f"expected the label {_listed(case)}, got {shown(chosen[0])}")
        said = f"several labels ({', '.join(chosen)})" if chosen else f"none of the labels: {shown(output.strip())}"
        return failed(f"expected the one label {_listed(case)}, the output names {said}")

    def complaint(self, case: Case) -> str:
        known = {plain(label) for label in self.labels or case.choices}
        bad = [gold for gold in case.golds if known and plain(gold) not in known]
        labels = ", ".join(self.labels or case.choices)
        return f"{shown(bad[0])} is none of the labels {labels}" if bad else ""


@dataclass(frozen=True, slots=True)
class JsonFields:
    """A JSON object whose fields have the expected values; `fields` narrows the comparison."""

    fields: tuple[str, ...] = ()

    def grade(self, output: str, case: Case) -> Score:
        gold, found = _object(case.answer), extract_json(output)
        if gold is None or not isinstance(found, Mapping):
            return failed("the output holds no JSON object")
        said = cast("Mapping[str, JSON]", found)
        names = self.fields or tuple(gold)
        wrong = [name for name in names if name not in said or not same_value(said[name], gold.get(name))]
        if not wrong:
            return passed()
        listed = "; ".join(_wrong(name, said, gold) for name in wrong[:10])
        return failed(f"{len(wrong)} of {len(names)} fields are wrong: {listed}", 1 - len(wrong) / len(names))

    def complaint(self, case: Case) -> str:
        gold = _object(case.answer)
        if not gold:
            return f"{shown(str(case.answer))} is not a JSON object with fields"
        absent = [name for name in self.fields if name not in gold]
        return f"the field {absent[0]!r} is not in the answer" if absent else ""


def chosen_labels(output: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The labels an output names: all of it, else its last line, else anywhere; longer labels hide shorter ones."""
    lines = [line for line in output.strip().splitlines() if line.strip()]
    if not lines:
        return ()
    known = {plain(label): label for label in sorted(labels, key=len)}
    for text in (output, lines[-1], _LEAD.sub("", lines[-1])):
        if (whole := plain(text).strip("\"'`*.:!()[] ")) in known:
            return (known[whole],)
    return _named(plain(lines[-1]), known) or _named(plain(output), known)


def same_value(one: JSON, two: JSON) -> bool:
    """Equal as people mean it: numbers by value, texts without regard to case and white space."""
    if isinstance(one, list) and isinstance(two, list):
        left, right = cast("list[JSON]", one), cast("list[JSON]", two)
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(one, dict) and isinstance(two, dict):
        first, second = cast("dict[str, JSON]", one), cast("dict[str, JSON]", two)
        return first.keys() == second.keys() and all(same_value(first[k], second[k]) for k in first)
    numbers = whole_number(one), whole_number(two)
    if numbers[0] is not None and numbers[1] is not None:
        return math.isclose(numbers[0], numbers[1], rel_tol=_RELATIVE, abs_tol=1e-9)
    if isinstance(one, str) and isinstance(two, str):
        return plain(one) == plain(two)
    return type(one) is type(two) and one == two


def _named(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    found: list[str] = []
    for label in sorted(known, key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(label)}(?!\w)"
        if label and re.search(pattern, text):
            found.append(known[label])
            text = re.sub(pattern, "\n", text)
    return tuple(found)


def _answers(case: Case) -> list[JSON]:
    return cast("list[JSON]", case.answer) if isinstance(case.answer, list) else [case.answer]


def _object(value: JSON) -> Mapping[str, JSON] | None:
    found = extract_json(value) if isinstance(value, str) else value
    return cast("Mapping[str, JSON]", found) if isinstance(found, Mapping) else None


def _listed(case: Case) -> str:
    return " or ".join(shown(gold) for gold in case.golds[:5])


def _wrong(name: str, said: Mapping[str, JSON], gold: Mapping[str, JSON]) -> str:
    got = shown(str(said[name])) if name in said else "nothing"
    return f"{name} should be {shown(str(gold.get(name)))}, got {got}"
