"""What an analyst is shown of the rollouts: everything that fits, and a visible note where it does not.

The longest parts are shortened first, in the middle, since beginnings and ends explain most. No trajectory is ever left
out. The target's system prompt repeats the skill, which the analyst has already, so it is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from skillopt.gradient.tokens import CHARACTERS_PER_TOKEN
from skillopt.prompts import fence
from skillopt.types import JSON, Rollout, canonical

MINIMUM_TOKENS = 160
"""Room a trajectory needs for its heading and a few words; below that the budget cannot be kept."""

_PART_FLOOR = 240
_FENCE = len(fence("trajectory", ""))
_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Sheet:
    """One trajectory before it is fitted: a heading that always stays, and parts that may be shortened."""

    head: str
    parts: tuple[str, ...]


def sheet(rollout: Rollout, title: str = "", reference: str = "") -> Sheet:
    """Take a rollout apart: heading, score details, turns, and the answer when the last turn does not hold it.

    `reference` is material that the target never saw, such as a solution.
    """
    turns = [turn for turn in rollout.trajectory if turn.role != "system" and turn.text.strip()]
    hidden = fence("reference", reference) if reference.strip() else ""
    parts = [_details(rollout), hidden, *(f"[{turn.role}] {turn.text.strip()}" for turn in turns)]
    answer = rollout.answer.strip()
    if answer and not (turns and answer in turns[-1].text):
        parts.append(f"[final answer] {answer}")
    return Sheet("\n".join(line for line in (title, *_heading(rollout)) if line), tuple(part for part in parts if part))


def render(rollouts: Iterable[Rollout], budget: int, reference: Callable[[str], str] | None = None) -> str:
    """The rollouts as fenced texts within `budget` tokens, in the given order; `reference` is asked by item id."""
    sheets = [sheet(rollout, reference=reference(rollout.item) if reference else "") for rollout in rollouts]
    return _GAP.join(fit(sheets, budget))


def fit(sheets: Sequence[Sheet], budget: int) -> tuple[str, ...]:
    """Shorten parts until all sheets fit; joined with a blank line they stay within the budget."""
    room = budget * CHARACTERS_PER_TOKEN - sum(_FENCE + len(s.head) + 2 * len(_GAP) for s in sheets)
    parts = [len(part) + len(_GAP) for s in sheets for part in s.parts]
    # Very many parts cannot all keep a share; then each keeps a little, and whole bodies lose their middle.
    cap = max(_PART_FLOOR, water_level(parts, room) - len(_GAP))
    bodies = [_GAP.join(shorten(part, cap) for part in s.parts) for s in sheets]
    limit = water_level([len(body) for body in bodies], room)
    return tuple(_fenced(s.head, shorten(body, limit)) for s, body in zip(sheets, bodies, strict=True))


def water_level(lengths: Iterable[int], room: int) -> int:
    """The largest cap under which the lengths sum up to no more than `room`: the longest are cut first."""
    rising = sorted(lengths)
    for index, length in enumerate(rising):
        share = room // (len(rising) - index)
        if length > share:
            return max(0, share)
        room -= length
    return rising[-1] if rising else 0


def shorten(text: str, limit: int) -> str:
    """Cut the middle out and say how much is missing. A limit below the note's own length leaves just the note."""
    if len(text) <= limit:
        return text
    keep = max(0, limit - len(_note(len(text))))
    head, tail = keep - keep // 3, keep // 3
    return text[:head] + _note(len(text) - keep) + text[len(text) - tail :]


def _note(missing: int) -> str:
    return f"\n[... {missing} characters left out ...]\n"


def _fenced(head: str, body: str) -> str:
    return fence("trajectory", f"{head}{_GAP}{body}" if body else head)


def _heading(rollout: Rollout) -> tuple[str, ...]:
    score = rollout.score
    return (
        f"id: {rollout.item}",
        f"task type: {shorten(rollout.kind, 80)}" if rollout.kind else "",
        f"task: {rollout.task}" if rollout.task else "",
        f"score: hard {score.hard:g}, soft {score.soft:g}" if score else "score: none, the attempt could not be made",
        f"turns: {rollout.turns}",
    )


def _details(rollout: Rollout) -> str:
    detail = rollout.score.detail if rollout.score else {}
    lines = (f"- {name}: {_plain(value)}" for name, value in detail.items() if value not in (None, "", [], {}))
    text = "\n".join(lines)
    return f"[score details]\n{text}" if text else ""


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else canonical(value)
