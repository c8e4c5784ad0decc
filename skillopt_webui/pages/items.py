"""Items: the list with its filters, and one item as a conversation, under one skill or two side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillopt.errors import JournalError
from skillopt.journal.events import RolloutDone
from skillopt.journal.places import StepName, step_of
from skillopt.progress.words import tokens
from skillopt.types import JSON, Rollout, Turn
from skillopt_webui.pages.words import number, outcome, place_name, used_for
from skillopt_webui.reading.follower import Follower
from skillopt_webui.reading.ledger import Attempt, ItemRow, Ledger
from skillopt_webui.text import image_names, markdown, plain, shortened

PAGE = 50
ATTEMPTS_SHOWN = 60
_NAMES = {
    "system": "System", "user": "User", "assistant": "Model", "tool": "Tool", "action": "Action",
    "observation": "Observation", "verdict": "Verdict",
}  # fmt: skip
_SPOKEN = frozenset({"assistant", "user"})
_FILTERS = (("", "all"), ("wrong", "wrong"), ("right", "right"), ("changed", "changed"), ("missing", "no result"))
_STAGES = (("", "any use"), ("train", "training"), ("val", "validation"), ("test", "test"), ("eval", "evaluation"))


@dataclass(frozen=True, slots=True)
class Wish:
    query: str = ""
    show: str = ""
    stage: str = ""
    at: str = ""
    page: int = 1


def items_page(follower: Follower, wish: Wish) -> dict[str, JSON]:
    found = [(row, tries) for row in follower.ledger.items.values() if (tries := _wanted(row, wish))]
    pages = max(1, -(-len(found) // PAGE))
    page = min(max(1, wish.page), pages)
    return {
        "rows": [_row(row, tries) for row, tries in found[(page - 1) * PAGE : page * PAGE]],
        "found": len(found),
        "total": len(follower.ledger.items),
        "page": page,
        "pages": pages,
        "wish": wish,
        "filters": _FILTERS,
        "stages": _STAGES,
        "place": _place(wish.at, follower) if wish.at else "",
    }


def _wanted(row: ItemRow, wish: Wish) -> list[Attempt]:
    """The attempts that the reader asked for; none when the item is not what was asked for."""
    words = wish.query.lower().split()
    if words and not all(word in f"{row.id} {row.task} {row.kind}".lower() for word in words):
        return []
    tries = [
        a
        for a in row.attempts
        if (not wish.stage or a.stage == wish.stage) and (not wish.at or step_of(a.at) == wish.at)
    ]
    if not tries or not wish.show:
        return tries
    last = tries[-1].rollout
    kept = {
        "missing": last.score is None,
        "wrong": last.score is not None and last.score.hard < 1.0,
        "right": last.score is not None and last.score.hard >= 1.0,
        "changed": len({a.rollout.score.hard for a in tries if a.rollout.score}) > 1,
    }
    return tries if kept.get(wish.show, True) else []


def _row(row: ItemRow, tries: Sequence[Attempt]) -> dict[str, JSON]:
    last = tries[-1]
    score = last.rollout.score
    return {
        "id": row.id,
        "digest": row.digest,
        "kind": row.kind,
        "task": row.task,
        "outcome": outcome(last),
        "hard": number(score.hard if score else None),
        "soft": number(score.soft if score else None),
        "history": [(*outcome(a), a.at) for a in tries[-12:]],
        "tries": len(tries),
    }


def item_page(
    follower: Follower, row: ItemRow, *, shown: int | None, beside: int | None, rendered: bool, full: bool
) -> dict[str, JSON]:
    """`shown` and `beside` are event numbers; without one the last attempt is shown."""
    by_seq = {a.seq: a for a in row.attempts}
    main = by_seq.get(shown or -1, row.attempts[-1])
    other = by_seq.get(beside or -1)
    chosen = [a for a in (other, main) if a is not None]
    return {
        "id": row.id,
        "digest": row.digest,
        "item_kind": row.kind,
        "task": row.task,
        "attempts": [_choice(a, follower, main, other) for a in row.attempts[-ATTEMPTS_SHOWN:]],
        "hidden": max(0, len(row.attempts) - ATTEMPTS_SHOWN),
        "talks": [talk(follower, a, rendered=rendered, full=full) for a in chosen],
        "shown": main.seq,
        "beside": other.seq if other else None,
        "rendered": rendered,
        "full": full,
    }


def _choice(attempt: Attempt, follower: Follower, main: Attempt, other: Attempt | None) -> dict[str, JSON]:
    score = attempt.rollout.score
    return {
        "seq": attempt.seq,
        "place": _place(attempt.at, follower),
        "use": used_for(attempt.stage),
        "skill": skill_name(attempt.rollout.skill, follower),
        "outcome": outcome(attempt),
        "hard": number(score.hard if score else None),
        "soft": number(score.soft if score else None),
        "main": attempt is main,
        "other": attempt is other,
    }


def _place(at: str, follower: Follower) -> str:
    name = StepName.parse(at)
    if name is None:
        return place_name(at)
    return f"step {(name.epoch - 1) * follower.view.plan.get('steps_per_epoch', 0) + name.step}"


def skill_name(digest: str, follower: Follower) -> str:
    """Which version of the skill an attempt had: the step after which it was first current."""
    for number_, skill in follower.view.skills.items():
        if skill.digest == digest:
            return "first skill" if number_ == 0 else f"skill after step {number_}"
    return f"candidate {digest[:6]}"


def talk(follower: Follower, attempt: Attempt, *, rendered: bool, full: bool) -> dict[str, JSON]:
    """One attempt, read from the journal where it lies."""
    head: dict[str, JSON] = {
        "seq": attempt.seq,
        "place": _place(attempt.at, follower),
        "use": used_for(attempt.stage),
        "skill": skill_name(attempt.rollout.skill, follower),
        "outcome": outcome(attempt),
    }
    try:
        body = follower.event_of(attempt).body
    except (JournalError, OSError) as error:
        return head | {"broken": str(error)}
    if not isinstance(body, RolloutDone):
        return head | {"broken": "the journal has another event in this place"}
    return head | {"broken": ""} | spoken(body.rollout, rendered=rendered, full=full)


def spoken(rollout: Rollout, *, rendered: bool, full: bool) -> dict[str, JSON]:
    usage = rollout.usage
    return {
        "turns": [_turn(turn, n, rendered=rendered, full=full) for n, turn in enumerate(rollout.trajectory)],
        "answer": rollout.answer,
        "said_last": bool(rollout.trajectory) and rollout.trajectory[-1].text.strip() == rollout.answer.strip(),
        "failure": rollout.failure,
        "hard": number(rollout.score.hard if rollout.score else None),
        "soft": number(rollout.score.soft if rollout.score else None),
        "detail": detail_rows(rollout.score.detail) if rollout.score else [],
        "usage": f"{tokens(usage.prompt_tokens)} tokens in, {tokens(usage.completion_tokens)} out"
        if usage.calls
        else "",
        "cost": f"${usage.cost_usd:.4f}" if usage.calls and not usage.unpriced else "",
        "seconds": f"{rollout.seconds:.1f} s",
    }


def _turn(turn: Turn, place: int, *, rendered: bool, full: bool) -> dict[str, JSON]:
    text, cut = (turn.text, 0) if full else shortened(turn.text)
    as_markdown = rendered and turn.role in _SPOKEN
    return {
        "role": turn.role if turn.role in _NAMES else "other",
        "name": _NAMES.get(turn.role, turn.role),
        "body": markdown(text) if as_markdown else Markup("<pre>{}</pre>").format(plain(text)),
        "cut": cut,
        "pictures": image_names(text),
        "folded": turn.role == "system" or (turn.role in ("tool", "observation") and len(text) > 1500),
        "length": len(turn.text),
        "place": place,
    }


def detail_rows(detail: Mapping[str, JSON]) -> list[tuple[str, str]]:
    """The grader's own words; nested values as indented JSON."""
    rows: list[tuple[str, str]] = []
    for key, value in detail.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
        rows.append((str(key).replace("_", " "), shortened(text, 4000)[0]))
    return rows


def neighbours(ledger: Ledger, digest: str) -> tuple[str, str]:
    """The items before and after, in the order of the list."""
    order = list(ledger.items)
    place = order.index(digest)
    return (order[place - 1] if place else ""), (order[place + 1] if place + 1 < len(order) else "")
