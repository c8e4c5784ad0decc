"""Rules induced from right answers: what all of them share can be said in a line, and needs no model to be found.

Every rule holds for all training answers (cues: for nearly all inputs with the word), so none can be plainly wrong.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import cast

from skillopt.skill.examples import Example
from skillopt.types import JSON

FEW_LABELS = 12
SHORT = 8
LEAST = 5
CUES = 4
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")
_TAGS = re.compile(r"(<[\w-]+>).*(</[\w-]+>)", re.DOTALL)
_WORD = re.compile(r"[a-z][a-z'-]{3,}")
_SEPARATORS = (" | ", "; ", " / ", ", ")


def induced_rules(examples: Sequence[Example]) -> tuple[str, ...]:
    """List items for the document; none when there is too little to go by."""
    outputs = [example.output.strip() for example in examples]
    if len(outputs) < LEAST:
        return ()
    labels = _labels(outputs)
    if labels:
        listed = ", ".join(labels)
        return (f"- Reply with exactly one of these and nothing else: {listed}.", *_cues(examples, labels))
    found = (_tags(outputs), _json_keys(outputs), _number(outputs), _parts(outputs), _short(outputs), _copied(examples))
    return tuple(rule for rule in found if rule)


def _labels(outputs: Sequence[str]) -> tuple[str, ...]:
    labels = tuple(sorted(set(outputs)))
    few = 2 <= len(labels) <= FEW_LABELS and 3 * len(labels) <= len(outputs)
    return labels if few and all(len(label) <= 40 and "\n" not in label for label in labels) else ()


def _cues(examples: Sequence[Example], labels: Sequence[str]) -> tuple[str, ...]:
    """Words that nearly always go with one label, three times at least."""
    holders: dict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        for word in set(_WORD.findall(example.input.lower())):
            holders[word][example.output.strip()] += 1
    telling: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for word, counts in holders.items():
        label, most = counts.most_common(1)[0]
        if most >= 3 and most >= 0.9 * counts.total():
            telling[label].append((-most, word))
    words = {label: ", ".join(word for _, word in sorted(telling[label])[:CUES]) for label in labels}
    return tuple(f"- {label}: inputs that speak of {words[label]}." for label in labels if words[label])


def _tags(outputs: Sequence[str]) -> str:
    tags = {found.groups() if (found := _TAGS.fullmatch(output)) else None for output in outputs}
    only = next(iter(tags)) if len(tags) == 1 else None
    return f"- Give the answer between {only[0]} and {only[1]}." if only else ""


def _json_keys(outputs: Sequence[str]) -> str:
    keys = {_keys(output) for output in outputs}
    only = next(iter(keys)) if len(keys) == 1 else ()
    return f"- Reply with one JSON object with the keys {', '.join(only)}, and nothing else." if only else ""


def _keys(output: str) -> tuple[str, ...]:
    try:
        value: JSON = json.loads(output)
    except ValueError:
        return ()
    return tuple(cast("dict[str, JSON]", value)) if isinstance(value, dict) else ()


def _number(outputs: Sequence[str]) -> str:
    return "- Reply with a number alone." if all(_NUMBER.fullmatch(output) for output in outputs) else ""


def _parts(outputs: Sequence[str]) -> str:
    for mark in _SEPARATORS:
        counts = {output.count(mark) + 1 for output in outputs}
        if len(counts) == 1 and (only := counts.pop()) > 1 and not _keys(outputs[0]):
            return f'- Reply with {only} parts on one line, divided by "{mark.strip()}".'
    return ""


def _short(outputs: Sequence[str]) -> str:
    most = max(len(output.split()) for output in outputs)
    if most > SHORT or all(_NUMBER.fullmatch(output) for output in outputs):
        return ""
    size = "one word" if most == 1 else f"at most {most} words"
    return f"- Reply with the answer alone, {size}: no sentence and no explanation."


def _copied(examples: Sequence[Example]) -> str:
    inside = sum(example.output.strip().lower() in example.input.lower() for example in examples)
    return "- Copy the answer from the input, word for word." if inside >= 0.9 * len(examples) else ""
