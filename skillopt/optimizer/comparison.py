"""The same tasks under two consecutive documents: the pairs, and the text an epoch-end writer is shown of them.

A task that is missing on one side is left out: an attempt that could not be made is no failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from skillopt.gradient.tokens import estimate_tokens
from skillopt.gradient.trajectory import MINIMUM_TOKENS, fit, sheet, shorten
from skillopt.journal.events import Pair
from skillopt.types import JSON, Item, Rollout, Score

PairPolicy = Literal["mixed", "changed", "unchanged"]
Category = Literal["regressed", "persistent_fail", "improved", "stable_success"]

ORDER: tuple[Category, ...] = ("regressed", "persistent_fail", "improved", "stable_success")
_WITH_TRAJECTORIES = ORDER[:3]
_KEPT: Mapping[PairPolicy, tuple[Category, ...]] = {
    "mixed": ORDER,
    "changed": ("regressed", "improved"),
    "unchanged": ("persistent_fail", "stable_success"),
}
_CATEGORIES: Mapping[tuple[bool, bool], Category] = {
    (True, False): "regressed",
    (False, False): "persistent_fail",
    (False, True): "improved",
    (True, True): "stable_success",
}
_TASK_WORDS = ("question", "task_description", "instruction")
_SHOWN = 200


def compare(items: Iterable[Item], prev: Mapping[str, Rollout], curr: Mapping[str, Rollout]) -> tuple[Pair, ...]:
    """One pair for each item scored on both sides, in the order of the items."""
    pairs = (_pair(item, prev.get(item.id), curr.get(item.id)) for item in items)
    return tuple(pair for pair in pairs if pair is not None)


def keep(pairs: Iterable[Pair], policy: PairPolicy) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if pair.category in _KEPT[policy])


def comparison_text(
    pairs: Sequence[Pair], prev: Mapping[str, Rollout], curr: Mapping[str, Rollout], budget: int
) -> str:
    """Counts, then every task by category; trajectories of both sides wherever something can be learned.

    The lines about the tasks always stay; trajectories get the rest of the budget.
    """
    counts = ", ".join(f"{category} {sum(p.category == category for p in pairs)}" for category in ORDER)
    lines = {pair.id: _line(pair) for pair in pairs}
    shown = [pair for pair in pairs if pair.category in _WITH_TRAJECTORIES]
    sheets = [
        sheet(side[pair.id], f"under the {name} skill")
        for pair in shown
        for name, side in (("previous", prev), ("current", curr))
    ]
    fixed = sum(estimate_tokens(line) + 1 for line in lines.values()) + estimate_tokens(counts) + 20 * len(ORDER)
    texts = iter(fit(sheets, max(budget - fixed, MINIMUM_TOKENS * len(sheets))))
    bodies = {pair.id: (lines[pair.id], next(texts), next(texts)) for pair in shown}
    sections = (_section(category, pairs, lines, bodies) for category in ORDER)
    return "\n\n".join((counts, *sections))


def _section(
    category: Category, pairs: Sequence[Pair], lines: Mapping[str, str], bodies: Mapping[str, tuple[str, ...]]
) -> str:
    members = [pair for pair in pairs if pair.category == category]
    blocks = ("\n\n".join(bodies.get(pair.id, (lines[pair.id],))) for pair in members)
    return "\n\n".join((f"### {category}", *blocks)) if members else f"### {category}\n\nnone"


def _pair(item: Item, prev: Rollout | None, curr: Rollout | None) -> Pair | None:
    if prev is None or curr is None or prev.score is None or curr.score is None:
        return None
    category = _CATEGORIES[prev.score.passed, curr.score.passed]
    return Pair(
        id=item.id, task=_task(item), category=category, prev=_side(prev, prev.score), curr=_side(curr, curr.score)
    )


def _task(item: Item) -> str:
    return next((str(item.data[word]) for word in _TASK_WORDS if item.data.get(word)), item.id)


def _side(rollout: Rollout, score: Score) -> dict[str, JSON]:
    return {
        "hard": int(score.passed),
        "soft": score.soft,
        "predicted_answer": rollout.answer or "N/A",
        "fail_reason": str(score.detail.get("fail_reason") or ""),
    }


def _line(pair: Pair) -> str:
    sides = (f"- {name}: {_outcome(side)}" for name, side in (("previous", pair.prev), ("current", pair.curr)))
    return "\n".join((f"Task {pair.id}: {shorten(pair.task, _SHOWN)}", *sides))


def _outcome(side: Mapping[str, JSON]) -> str:
    answer, reason = shorten(str(side["predicted_answer"]), _SHOWN), shorten(str(side["fail_reason"]), _SHOWN)
    because = f"; reason: {reason}" if reason else ""
    return f"{'pass' if side['hard'] else 'fail'}, soft {side['soft']:.2f}, answer: {answer}{because}"
