"""A question and its options: read from any of the published forms, put in an order, and lettered.

The order comes from a seed and the item's id alone, so an item reads the same in every batch and evaluation. In the
published files the correct option is always A, so the order they come in must not reach the target.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from skillopt.types import JSON, digest

_NAMED = re.compile(r"\b((?:option|choice)\s+\(?)([A-Z]{1,2})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    text: str


def letters(count: int) -> tuple[str, ...]:
    """A to Z, then AA, AB and so on."""
    return tuple(_letter(index) for index in range(count))


def question_of(row: Mapping[str, JSON]) -> str:
    question = _text(_asked(row).get("question"))
    if not question:
        raise ValueError("there is no question (looked for 'question' and 'mcq.question')")
    return question


def options_of(row: Mapping[str, JSON]) -> tuple[tuple[Option, ...], str]:
    """The options of a row by label, and the label of the correct one. ValueError says what a row lacks."""
    source = _asked(row)
    given = tuple(_given(source.get("choices")))
    if not given:
        raise ValueError("there are no choices (looked for 'choices' and 'mcq.choices')")
    correct = _correct(source.get("correct_choice"))
    if not correct.label:
        raise ValueError("there is no correct label (looked for 'correct_choice' and 'mcq.correct_choice')")
    options = tuple(sorted(_completed(given, correct), key=lambda option: (len(option.label), option.label)))
    _check(options)
    return options, correct.label


def arranged(options: Sequence[Option], correct: str, seed: str | None) -> tuple[tuple[Option, ...], str]:
    """The options in their shown order, lettered anew, and the correct one's new letter; without a seed as given.

    Where an option speaks of another by its letter, the letter follows.
    """
    order = list(options)
    if seed is not None:
        random.Random(int(digest(seed), 16)).shuffle(order)
    renamed = dict(zip((option.label for option in order), letters(len(order)), strict=True))
    shown = tuple(Option(renamed[option.label], _following(option.text, renamed)) for option in order)
    return shown, renamed[correct]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def _asked(row: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The published rows keep what is asked under `mcq`, normalised rows at the top."""
    mcq: JSON = row.get("mcq")
    return {**row, **cast("dict[str, JSON]", mcq)} if isinstance(mcq, dict) else row


def _letter(index: int) -> str:
    head, tail = divmod(index, 26)
    return (_letter(head - 1) if head else "") + chr(ord("A") + tail)


def _following(text: str, renamed: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda found: found[1] + renamed.get(found[2], found[2]), text)


def _given(choices: JSON) -> Iterator[Option]:
    """Texts, objects or a mapping of labels to texts; what has no label is lettered by its place."""
    if isinstance(choices, dict):
        named = cast("dict[str, JSON]", choices)
        yield from (Option(_label(label), _text(text)) for label, text in named.items())
        return
    listed: list[JSON] = choices if isinstance(choices, list) else []
    for letter, choice in zip(letters(len(listed)), listed, strict=True):
        option = _read(choice)
        yield Option(option.label or letter, option.text)


def _read(choice: JSON) -> Option:
    if not isinstance(choice, dict):
        return Option("", _text(choice))
    named = cast("dict[str, JSON]", choice)
    return Option(_label(named.get("label")), _text(named.get("text") or named.get("content")))


def _correct(choice: JSON) -> Option:
    """The correct option as the row gives it; a bare text is its label."""
    return _read(choice) if isinstance(choice, dict) else Option(_label(choice), "")


def _label(value: JSON) -> str:
    return _text(value).upper().rstrip(".):").strip()


def _text(value: JSON) -> str:
    return "" if value is None else str(value).strip()


def _completed(given: tuple[Option, ...], correct: Option) -> tuple[Option, ...]:
    """With the correct option among them: the published files keep it apart from the others."""
    found = next((option for option in given if option.label == correct.label), None)
    if found is None:
        if not correct.text:
            raise ValueError(f"the correct label {correct.label!r} is not among the choices, and has no text")
        return (*given, correct)
    if correct.text and squeezed(correct.text) != squeezed(found.text):
        raise ValueError(f"correct_choice and choice {correct.label!r} have the same label but not the same text")
    return given


def _check(options: Sequence[Option]) -> None:
    if len(options) < 2:
        raise ValueError("a question needs at least two choices")
    if empty := [option.label for option in options if not option.text]:
        raise ValueError(f"choice {empty[0]!r} has no text")
    for what, values in (
        ("label", [option.label for option in options]),
        ("text", [squeezed(option.text) for option in options]),
    ):
        if twice := [value for value in values if values.count(value) > 1]:
            raise ValueError(f"two choices have the same {what}: {twice[0][:80]!r}")
