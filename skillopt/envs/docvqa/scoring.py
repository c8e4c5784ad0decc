"""DocVQA's scorer: ANLS, the similarity by edit distance to the nearest expected answer, nothing from one half down.

Case and white space do not count; punctuation does, as in the published scorer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.envs.own.text_scores import similarity

RIGHT = 0.999
"""The ANLS from which an answer counts as right."""
_FLOOR = 0.5
_OPEN = re.compile(r"<answer>", re.IGNORECASE)
_CLOSE = re.compile(r"</answer>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The ANLS of an answer, and the expected answer that gave it."""

    anls: float
    gold: str


def extracted(reply: str) -> str:
    """The answer in a reply: from the last opening to the last closing tag, else the last line that is not blank."""
    inside = _inside(reply)
    if inside is not None:
        return inside.strip()
    return next((line.strip() for line in reversed(reply.splitlines()) if line.strip()), "")


def tagged(reply: str) -> bool:
    """Whether a reply holds an answer between tags."""
    return _inside(reply) is not None


def normalised(text: str) -> str:
    """Lower case and single spaces."""
    return " ".join(text.lower().split())


def nearest(answer: str, golds: Sequence[str]) -> Nearest:
    """The expected answer that this one is most similar to; the first of equals."""
    said = normalised(answer)
    return max((Nearest(_anls(said, normalised(gold)), gold) for gold in golds), key=lambda found: found.anls)


def _anls(said: str, gold: str) -> float:
    near = similarity(said, gold)
    return near if near > _FLOOR else 0.0


def _inside(reply: str) -> str | None:
    opens, closes = list(_OPEN.finditer(reply)), list(_CLOSE.finditer(reply))
    if not opens or not closes or opens[-1].end() > closes[-1].start():
        return None
    return reply[opens[-1].end() : closes[-1].start()]
