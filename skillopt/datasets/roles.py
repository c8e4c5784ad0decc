"""Which fields of a row ask, which answer: what an audit must know of a data set. Unknown data bring their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from skillopt.types import JSON

_WORD = re.compile(r"\w+")
NAMING = frozenset({"id", "task_type", "split"})
"""Fields that say what a row is called, not what it asks."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Field names. `media` name files the question is about; `correct` is the right one of `choices`."""

    question: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    choices: str = ""
    correct: str = ""
    media: tuple[str, ...] = ()


ROLES: Mapping[str, Roles] = {
    "searchqa": Roles(("question",), ("context",), ("answers",)),
    "docvqa": Roles(("question",), answer=("answers", "answer", "ground_truth"), media=("image_paths", "image_path")),
    "livemathematicianbench": Roles(("question",), choices="choices", correct="correct_choice"),
    "officeqa": Roles(("question",), answer=("ground_truth", "answer")),
    "spreadsheetbench": Roles(("instruction",), media=("spreadsheet_path",)),
    "alfworld": Roles(media=("gamefile",)),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A row as an audit sees it. `answer` is the first answer in comparable form, `right` the right option's place.

    What a row does not have is empty, and -1 for `right`.
    """

    split: str
    place: str
    question: str
    whole: str
    answers: tuple[str, ...]
    answer: str
    options: tuple[str, ...]
    right: int
    media: tuple[str, ...]
    row: Mapping[str, JSON]


def seen(row: Mapping[str, JSON], split: str, index: int, roles: Roles) -> Seen:
    """Read a row by its roles; whatever is missing is simply empty."""
    inner = row["mcq"] if roles.choices and isinstance(row.get("mcq"), dict) else {}
    row = {**row, **cast("dict[str, JSON]", inner)}
    question = "\n".join(leaf for name in roles.question for leaf in leaves(row.get(name)))
    context = [leaf for name in roles.context for leaf in leaves(row.get(name))]
    options, right = _options(row.get(roles.choices), row.get(roles.correct)) if roles.choices else ((), -1)
    answers = next((found for name in roles.answer if (found := tuple(leaves(row.get(name))))), ())
    media = next((found for name in roles.media if (found := tuple(leaves(row.get(name))))), ())
    place = f"{split}:{row['id']}" if row.get("id") not in (None, "") else f"{split} item {index}"
    whole = "\n".join((question, *context, *options))
    answer = plain(answers[0]) if answers else ""
    return Seen(split, place, question, whole, answers, answer, options, right, media, row)


def leaves(value: JSON) -> Iterable[str]:
    """All texts and numbers in a value, in order."""
    if isinstance(value, dict):
        for one in cast("dict[str, JSON]", value).values():
            yield from leaves(one)
    elif isinstance(value, list | tuple):
        for one in cast("list[JSON]", value):
            yield from leaves(one)
    elif value is not None and str(value).strip():
        yield str(value).strip()


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def plain(text: str) -> str:
    """Words alone, in lower case, with single spaces."""
    return " ".join(words(text))


def _options(choices: JSON, correct: JSON) -> tuple[tuple[str, ...], int]:
    """The options' texts in order, and which is right: by label, else by text. One that is not listed is put in."""
    options = [_option(one, chr(65 + i % 26)) for i, one in enumerate(_listed(choices))]
    label, text = _option(correct, "") if isinstance(correct, dict) else (str(correct or "").strip(), "")
    if label and text and label not in [one for one, _ in options]:
        options = sorted([*options, (label, text)])
    found = [i for i, (one, said) in enumerate(options) if one == label or (not text and said == label)]
    return tuple(said for _, said in options), found[0] if found else -1


def _listed(choices: JSON) -> list[JSON]:
    if isinstance(choices, dict):
        return [{"label": label, "text": said} for label, said in cast("dict[str, JSON]", choices).items()]
    return cast("list[JSON]", choices) if isinstance(choices, list) else []


def _option(value: JSON, label: str) -> tuple[str, str]:
    if not isinstance(value, dict):
        return label, str(value)
    row = cast("dict[str, JSON]", value)
    return str(row.get("label") or label).strip().rstrip(".):"), str(row.get("text") or row.get("content") or "")
