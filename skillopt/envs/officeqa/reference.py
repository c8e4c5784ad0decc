"""The scorer that published numbers of this benchmark's training recipe rest on, kept for comparison.

It compares texts: unit words are deleted, 11.6 is not 11.60, and "(5)" is 5. The scorer `numeric` is the better one.
"""

from __future__ import annotations

import re
import string
from collections import Counter

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_DELETED = str.maketrans("", "", "".join(set(string.punctuation) - set(".-%")))
_UNIT_WORDS = re.compile(r"\b(?:millions?|billions?|dollars?|nominal)\b")


def first_tagged(reply: str) -> str | None:
    """What stands between the first pair of tags."""
    found = _TAGGED.search(reply)
    return found[1].strip() if found else None


def last_tagged(reply: str) -> str | None:
    """The same for the last pair: whoever thinks aloud ends with what is meant."""
    found = _TAGGED.findall(reply)
    return found[-1].strip() if found else None


def normalised(text: str) -> str:
    kept = text.lower().strip().translate(_DELETED)
    return " ".join(_UNIT_WORDS.sub(" ", kept).split())


def exact(said: str, gold: str) -> bool:
    return normalised(said) == normalised(gold)


def token_f1(said: str, gold: str) -> float:
    """Shared words of two normalised texts; two empty texts agree."""
    return f1(normalised(said).split(), normalised(gold).split())


def f1(said: list[str], gold: list[str]) -> float:
    if not said or not gold:
        return float(said == gold)
    shared = sum((Counter(said) & Counter(gold)).values())
    return 2 * shared / (len(said) + len(gold))
