"""The rejected-edit memory: what a step leaves behind for the analysts of later steps.

A pattern keeps the items of the group in which it was seen; labels are never paired with items by position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillopt.gradient.tokens import CHARACTERS_PER_TOKEN
from skillopt.gradient.trajectory import shorten
from skillopt.journal.context import Context
from skillopt.skill.proposals import DOCUMENT
from skillopt.types import Action, Edit, Patch, Pattern, Reflection, Rollout, StepDigest

MEMORY_TOKENS = 8000
_SHOWN_ITEMS = 12
_SHOWN_TEXT = 600


def digest_of_step(
    context: Context,
    *,
    action: Action,
    rollouts: Sequence[Rollout],
    reflections: Sequence[Reflection],
    patch: Patch,
    score_before: float | None = None,
    score_after: float | None = None,
) -> StepDigest:
    """What to remember of a step. Rollouts without a score count neither as tried nor as failed."""
    scored = [rollout for rollout in rollouts if rollout.score is not None]
    failed = [rollout for rollout in scored if rollout.score and not rollout.score.passed]
    seen = [pattern for r in reflections if r.source == "failure" for pattern in r.patterns]
    return StepDigest(
        step=context.step,
        epoch=context.epoch,
        action=action,
        total=len(scored),
        failed=len(failed),
        patterns=_joined(seen or [_reason(rollout) for rollout in failed]),
        score_before=score_before,
        score_after=score_after,
        rejected=_proposals(patch) if action == "reject" else (),
    )


def _proposals(patch: Patch) -> tuple[Edit, ...]:
    """Everything that was measured together: edits, and reminders as edits of their own kind."""
    return (*patch.edits, *(Edit("note", note) for note in patch.notes))


def render_memory(entries: Sequence[StepDigest], budget: int = MEMORY_TOKENS) -> str:
    """The memory as text for a prompt, within `budget` tokens; nothing to remember gives an empty text.

    The newest steps are kept when not all of them fit, and a note says how many are left out.
    """
    kept: list[str] = []
    room = budget * CHARACTERS_PER_TOKEN
    for entry in reversed(entries):
        text = _entry(entry)
        if kept and len(text) > room:
            kept.append(f"[... {len(entries) - len(kept)} earlier steps left out ...]")
            break
        kept.append(shorten(text, room))
        room -= len(text)
    return "\n\n".join(reversed(kept))


def _joined(patterns: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """Patterns of one name become one, with the items of all its groups."""
    found: dict[str, Pattern] = {}
    for pattern in patterns:
        key = " ".join(pattern.name.casefold().split())
        first = found.get(key)
        found[key] = pattern if first is None else _both(first, pattern)
    return tuple(found.values())


def _both(first: Pattern, second: Pattern) -> Pattern:
    items = tuple(dict.fromkeys((*first.items, *second.items)))
    return replace(first, count=first.count + second.count, items=items)


def _reason(rollout: Rollout) -> Pattern:
    reason = rollout.score.detail.get("fail_reason") if rollout.score else None
    return Pattern(str(reason or "").split(":", 1)[0].strip() or "unknown", "", 1, (rollout.item,))


def _entry(entry: StepDigest) -> str:
    heading = f"### Step {entry.step}: {entry.action.upper()} ({entry.failed} of {entry.total} attempts failed)"
    return "\n".join((heading, *map(_pattern_line, entry.patterns), *_outcome(entry)))


def _pattern_line(pattern: Pattern) -> str:
    label = f"{pattern.name}: {pattern.description}" if pattern.description else pattern.name
    items = ", ".join(pattern.items[:_SHOWN_ITEMS])
    more = f" and {len(pattern.items) - _SHOWN_ITEMS} more" if len(pattern.items) > _SHOWN_ITEMS else ""
    return f"- {shorten(label, _SHOWN_TEXT)} (x{pattern.count}; tasks {items}{more})"


def _outcome(entry: StepDigest) -> tuple[str, ...]:
    known = entry.score_before is not None and entry.score_after is not None
    scores = (
        f" Score on held-out tasks: {entry.score_before:.4f} before, {entry.score_after:.4f} with it." if known else ""
    )
    if entry.rejected:
        edits = (f"{number}. {_edit_line(edit)}" for number, edit in enumerate(entry.rejected, start=1))
        return (f"Rejected edits.{scores}", *edits)
    return (scores.strip(),) if scores else ()


def _edit_line(edit: Edit) -> str:
    target = f" at {shorten(edit.target, 200)!r}" if edit.target else ""
    # Of a whole document only its changes are worth the room.
    text = edit.why if edit.op == DOCUMENT and edit.why else edit.content
    return f"{edit.op}{target}: {shorten(text, _SHOWN_TEXT)}"
