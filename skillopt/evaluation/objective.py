"""The one number a gate compares: hard, soft or a mix of both, and, when asked for, a bonus for dense wording."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt.skill.document import Skill
from skillopt.types import Score, Tally

LEADING_WORDS = frozenset(
    {"must", "always", "never", "only", "critical", "important", "resolve", "prefer", "ensure", "strict", "verify"}
)
_WORD = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Objective:
    """`mixed_weight` is the weight of soft in `mixed`; `density_weight` None leaves the density bonus out."""

    metric: str = "hard"
    mixed_weight: float = 0.5
    density_weight: float | None = None
    leading_words: frozenset[str] = LEADING_WORDS

    def of(self, tally: Tally, skill: Skill) -> float | None:
        """The number for a measured skill; None when nothing was measured."""
        if tally.hard is None or tally.soft is None:
            return None
        return self._blend(tally.hard, tally.soft) + self.bonus(skill)

    def of_item(self, score: Score) -> float:
        # Policies look at every item at every look, so the usual metric takes the short way.
        return score.hard if self.metric == "hard" else self._blend(score.hard, score.soft)

    def _blend(self, hard: float, soft: float) -> float:
        weight = {"hard": 0.0, "soft": 1.0}.get(self.metric, self.mixed_weight)
        return (1 - weight) * hard + weight * soft

    def bonus(self, skill: Skill) -> float:
        """What the document's wording adds to its score."""
        if self.density_weight is None:
            return 0.0
        words = [w.lower() for w in _WORD.findall(skill.body)]
        return self.density_weight * sum(w in self.leading_words for w in words) / max(1, len(words))
