"""SearchQA's scorer: exact match, token F1 and containment of normalised texts, the best over all expected answers.

Only ASCII punctuation is deleted and accents are kept, as in the SQuAD-style scorers that published numbers rest on.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class Match:
    """`em` and `sub_em` are 0 or 1, `f1` lies between."""

    em: float
    f1: float
    sub_em: float


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, single spaces."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def matched(prediction: str, answers: Sequence[str]) -> Match:
    """The best agreement of a prediction with any of the expected answers."""
    said = normalised(prediction)
    golds = [normalised(answer) for answer in answers]
    if said in golds:
        return Match(1.0, 1.0, 1.0)
    inside = any(said in gold or gold in said for gold in golds)
    words = said.split()
    return Match(0.0, max((_f1(words, gold.split()) for gold in golds), default=0.0), float(inside))


def _f1(said: list[str], gold: list[str]) -> float:
    if not said or not gold:
        return float(said == gold)
    shared = sum((Counter(said) & Counter(gold)).values())
    return 2 * shared / (len(said) + len(gold))
