"""Which failures make good worked examples: typical of what fails, unlike what is shown already, and short.

Words are compared, nothing is learned: the gate has the last word anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from skillopt.skill.examples import Example, parted

_WORD = re.compile(r"[^\W_]+")
LENGTH_WEIGHT = 0.3
FEW_ANSWERS = 12


def chosen(items: Sequence[str], known: Mapping[str, Example], shown: Sequence[str]) -> list[str]:
    """The items by usefulness. Where answers repeat, an answer that is shown less comes first."""
    present = [example for block in shown for example in parted(block).examples]
    count = Counter(example.output.strip() for example in present)
    inputs = {item: _words(known[item].input) for item in items}
    seen = [_words(example.input) for example in present]
    longest = max((len(known[item].input) for item in items), default=1)

    def worth(item: str) -> tuple[int, float]:
        words = inputs[item]
        typical = sum(similarity(words, other) for other in inputs.values()) / len(inputs)
        known_already = max((similarity(words, other) for other in seen), default=0.0)
        length = LENGTH_WEIGHT * len(known[item].input) / longest
        return count[known[item].output.strip()] if _repeats(known) else 0, -(typical - known_already - length)

    return sorted(items, key=worth)


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Shared words among all words."""
    together = len(first | second)
    return len(first & second) / together if together else 0.0


def _repeats(known: Mapping[str, Example]) -> bool:
    answers = {example.output.strip() for example in known.values()}
    return len(answers) <= FEW_ANSWERS and 3 * len(answers) <= len(known)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
