"""What can be had without reading the question: rules that look at the options' wording alone, and call no model.

Wrong options are usually made by bending the right one, which leaves traces: the right one resembles the others most,
or it is the only one that speaks about the others. A skill may learn such traces instead of mathematics, so a score
means little until it is compared with these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from skillopt.types import Item

Rule = Callable[[Sequence[str]], list[float]]
"""A rating of each option; the highest is the guess, and equals share it."""

_HEDGES = re.compile(
    r"\b(?:some|may|might|can|possibly|generally|typically|almost|at (?:least|most)|in general|"
    r"sufficiently|not (?:necessarily|always)|need not)\b",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"\b(?:(?:remaining|other|above|previous|preceding) (?:options?|choices?|statements?)|"
    r"(?:none|all|one|any) of the(?:se| above))\b",
    re.IGNORECASE,
)


def guessable(items: Iterable[Item]) -> float:
    """The share of items that the best single rule gets right: read a model's score against it, not against chance.

    `items` are items of this benchmark, whose `choices` are in the order the target sees. 0.0 for no items. Being the
    best of several rules it leans upwards on a handful of items; `shares` gives each rule's own number.
    """
    return max(shares(items).values(), default=0.0)


def shares(items: Iterable[Item]) -> dict[str, float]:
    """What each rule of `RULES` gets right, as an expected share; `chance` is guessing blindly. Empty for no items."""
    known = tuple(items)
    return {name: sum(_hit(rule, item) for item in known) / len(known) for name, rule in RULES.items()} if known else {}


def _hit(rule: Rule, item: Item) -> float:
    labels = [choice["label"] for choice in item.data["choices"]]
    ratings = rule([choice["text"] for choice in item.data["choices"]])
    guesses = [label for label, rating in zip(labels, ratings, strict=True) if rating == max(ratings)]
    return (item.data["correct_choice"]["label"] in guesses) / len(guesses)


def _likeness(texts: Sequence[str]) -> list[float]:
    """How much each text shares with the others, word by word: 0 for nothing, 1 for everything."""
    words = [frozenset(re.findall(r"\w+", text.lower())) for text in texts]
    return [
        sum(len(one & other) / max(1, len(one | other)) for j, other in enumerate(words) if j != i)
        / max(1, len(texts) - 1)
        for i, one in enumerate(words)
    ]


def _about_others(texts: Sequence[str]) -> list[float]:
    return [float(bool(_ABOUT_OTHERS.search(text))) for text in texts]


def _either(texts: Sequence[str]) -> list[float]:
    return [2 * about + like for about, like in zip(_about_others(texts), _likeness(texts), strict=True)]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "chance": lambda texts: [0.0 for _ in texts],
        "first": lambda texts: [float(-index) for index in range(len(texts))],
        "longest": lambda texts: [float(len(text)) for text in texts],
        "shortest": lambda texts: [-float(len(text)) for text in texts],
        "most hedged": lambda texts: [float(len(_HEDGES.findall(text))) for text in texts],
        "least hedged": lambda texts: [-float(len(_HEDGES.findall(text))) for text in texts],
        "most like the others": _likeness,
        "speaks about the others": _about_others,
        "speaks about the others, else most like them": _either,
    }
)
