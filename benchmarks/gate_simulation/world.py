"""A world of proposals whose truth is known: what each does to the pass rate of all tasks, and to n selection items.

Half of the edits change nothing, 30% mend a share of the failures, 20% break a share of what passes. An item is stable
(its outcome is that of the document) or flaky (a coin for every document). The seed document fails on half of all
items, all of them stable, whatever the share of flaky ones. An edit that helps mends 4 to 40% of the failures that are
left, one that harms breaks 2 to 20% of the passes: with these sizes the paper's gate ends near the published row.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from skillopt.types import Item, Rollout, Score

Kind = Literal["neutral", "helpful", "harmful"]
HEADROOM = 0.5
SHARES: tuple[tuple[Kind, float], ...] = (("neutral", 0.5), ("helpful", 0.3), ("harmful", 0.2))
HELPS, HARMS = (0.04, 0.40), (0.02, 0.20)


@dataclass(frozen=True, slots=True)
class Edit:
    """`size` is the share of the failures that it mends (helpful) or of the passes that it breaks (harmful)."""

    kind: Kind
    size: float

    @classmethod
    def draw(cls, random: Random, scale: float = 1.0) -> Edit:
        kind = random.choices([k for k, _ in SHARES], [w for _, w in SHARES])[0]
        low, high = HELPS if kind == "helpful" else HARMS
        return cls(kind, 0.0 if kind == "neutral" else scale * random.uniform(low, high))

    def failing(self, share: float) -> float:
        """The share of stable tasks that fail after the edit."""
        if self.kind == "helpful":
            return share * (1 - self.size)
        return share + (1 - share) * self.size if self.kind == "harmful" else share


@dataclass(frozen=True, slots=True)
class Document:
    """`failing` is the truth over all stable tasks; `passes` is what it does to the selection items, stable ones."""

    failing: float
    passes: tuple[bool, ...]

    def edited(self, edits: tuple[Edit, ...], random: Random) -> Document:
        failing, passes = self.failing, list(self.passes)
        for edit in edits:
            failing = edit.failing(failing)
            mends = edit.kind == "helpful"
            if edit.kind == "neutral":
                continue
            passes = [p if p == mends or random.random() >= edit.size else mends for p in passes]
        return Document(failing, tuple(passes))


@dataclass(frozen=True, slots=True)
class Split:
    """The selection items of one run, with both possible outcomes of each as the engine would record them."""

    items: tuple[Item, ...]
    flaky: tuple[bool, ...]
    outcomes: tuple[tuple[Rollout, Rollout], ...]
    share: float

    @classmethod
    def make(cls, n: int, flaky: float, random: Random) -> Split:
        items = tuple(Item(str(k), "val", "task", {}, f"d{k}") for k in range(n))
        coins = [k < round(flaky * n) for k in range(n)]
        random.shuffle(coins)
        outcomes = tuple((_row(item, 0.0), _row(item, 1.0)) for item in items)
        return cls(items, tuple(coins), outcomes, flaky)

    def seed(self, random: Random) -> Document:
        failing = HEADROOM / (1 - self.share)
        return Document(failing, tuple(random.random() >= failing for _ in self.items))

    def measured(self, document: Document, random: Random) -> dict[str, Rollout]:
        """One draw of the document on every item; the engine looks only at those that it asks for."""
        rows = zip(self.outcomes, self.flaky, document.passes, strict=True)
        return {both[0].item_digest: both[random.random() < 0.5 if coin else passes] for both, coin, passes in rows}

    def truth(self, document: Document) -> float:
        """The pass rate over all tasks of this kind."""
        return (1 - self.share) * (1 - document.failing) + self.share * 0.5


def _row(item: Item, score: float) -> Rollout:
    return Rollout(item.id, item.digest, "", "val", item.kind, Score(score, score), None)
