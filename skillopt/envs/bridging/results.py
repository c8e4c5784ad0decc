"""A result row made into a score and an attempt, or into the reason why there is none.

Unknown is not zero: a row that stands for a call that failed is missing data. A row that breaks the contract stops the
run, because every other row of that adapter is in doubt too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from skillopt.envs.batch import Row
from skillopt.envs.bridging.written import Written
from skillopt.errors import ModelError, SkillOptError
from skillopt.model.types import Message
from skillopt.model.witness import Call, Witness
from skillopt.types import JSON, Attempt, Item, RolloutResult, Score, Turn, Usage, canonical

_BROKEN_PHASES = {"timeout": "timeout", "error": "agent_failed", "exception": "agent_failed", "api_error": "server"}
_PLACED = frozenset({"id", "hard", "soft", "n_turns", "task_type", "predicted_answer", "reference_text"})
"""Keys that have a place of their own. A reference is kept by the item: analysts see it only if they may."""


@dataclass(frozen=True, slots=True)
class Graded(Attempt):
    """An attempt that comes with its score, because the rollout judged it itself."""

    score: Score = field(default_factory=lambda: Score(0.0, 0.0))
    judging: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Share:
    """One item's part of what was seen of a rollout. `unanswered` is the call that ended it without an answer."""

    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    judging: Usage = field(default_factory=Usage)
    answered: bool = False
    unanswered: ModelError | None = None


def shares(seen: Witness, n: int) -> tuple[Share, ...]:
    """Of several items nobody knows which call was whose: the first is booked with all, and none is told a story."""
    usage, judging = (seen.usage(of_target=of_target) for of_target in (True, False))
    if n == 1:
        return (Share(tuple(seen.calls), usage, judging, seen.answered, seen.unanswered),)
    return Share((), usage, judging, seen.answered), *(Share(answered=seen.answered) for _ in range(n - 1))


def rows_by_id(name: str, returned: JSON) -> dict[str, Row]:
    """The returned rows; anything but a list of results with distinct ids is refused."""
    if not isinstance(returned, (list, tuple)):
        raise SkillOptError(f"{name}: rollout must return a list of results, it returned {type(returned).__name__}")
    found: dict[str, Row] = {}
    for each in cast("Sequence[JSON]", returned):
        row = each.to_dict() if isinstance(each, RolloutResult) else each
        if not isinstance(row, Mapping) or row.get("id") is None:
            raise SkillOptError(f"{name}: rollout returned {_shown(row)}; a result is a dict with id, hard and soft")
        id = str(cast("Row", row)["id"])
        if id in found:
            raise SkillOptError(f"{name}: rollout returned two results for item {id!r}")
        found[id] = dict(cast("Row", row))
    return found


def missing(item: Item, rows: Mapping[str, Row], seen: Share) -> ModelError | None:
    """Why there is nothing to score, if so."""
    row = rows.get(item.id)
    if row is None:
        others = ", ".join(map(repr, tuple(rows)[:3])) or "none"
        return seen.unanswered or ModelError(
            "no_result", f"the rollout returned no result for item {item.id!r} (returned: {others})"
        )
    ok, reason = row.get("agent_ok"), str(row.get("fail_reason") or "no reason was given")
    if ok is True:
        return None
    kind = _BROKEN_PHASES.get(str(row.get("phase") or "").lower())
    if ok is False and kind is not None:
        return seen.unanswered or ModelError(kind, reason)
    if seen.unanswered is not None:
        return seen.unanswered
    if ok is False and not seen.answered:
        return ModelError("agent_failed", f"agent_ok is False: {reason}")
    return None


def graded(name: str, item: Item, row: Row, files: Written, seen: Share) -> Graded:
    """The row as an attempt; `seen` gives the conversation where the adapter wrote none, and what was used."""
    hard, soft = (_number(name, item, row, key) for key in ("hard", "soft"))
    detail = {key: _json(value) for key, value in row.items() if key not in _PLACED}
    if files.preview and "spreadsheet_preview" not in detail:
        detail["spreadsheet_preview"] = files.preview
    if hard < 1e-9 and not detail.get("fail_reason"):
        detail["fail_reason"] = "the answer does not score"
    said = str(row.get("predicted_answer") or row.get("response") or "")
    turns = _trajectory(item, row, files, seen, said)
    return Graded(
        answer=said or next((t.text for t in reversed(turns) if t.role == "assistant"), ""),
        trajectory=turns,
        usage=seen.usage,
        turns=_turns(row),
        score=Score(hard, soft, detail),
        judging=seen.judging,
    )


def told(calls: Sequence[Call]) -> tuple[Turn, ...]:
    """The target's calls as one conversation: what a request repeats of the ones before it is not told again."""
    turns: list[Turn] = []
    for call in calls:
        if not call.to_target or call.answer is None:
            continue
        asked = [_turn(message) for message in call.request.messages]
        kept = 0
        while kept < min(len(turns), len(asked)) and asked[kept] == turns[kept]:
            kept += 1
        fresh = asked[kept:] if kept == len(turns) else [turn for turn in asked if turn not in turns[:1]]
        turns += [*fresh, Turn("assistant", call.answer.text)]
    return tuple(turns)


def _trajectory(item: Item, row: Row, files: Written, seen: Share, said: str) -> tuple[Turn, ...]:
    system = str(row.get("target_system_prompt") or files.system)
    user = str(row.get("target_user_prompt") or files.user)
    head = tuple(Turn(role, text) for role, text in (("system", system), ("user", user)) if text)
    if files.turns:
        return (*(turn for turn in head if turn not in files.turns), *files.turns)
    if spoken := told(seen.calls):
        return spoken
    task = Turn("user", str(row.get("task_description") or row.get("question") or canonical(item.data)))
    opening = head if user else (*head, task)
    return (*opening, Turn("assistant", said)) if said else opening


def _turn(message: Message) -> Turn:
    calls = "\n".join(f"{call.name}({call.arguments})" for call in message.tool_calls)
    return Turn(message.role, "\n".join(text for text in (message.text, calls) if text))


def _number(name: str, item: Item, row: Row, key: str) -> float:
    value = row.get(key)
    try:
        number = float(value) if not isinstance(value, str) and value is not None else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        problem = f"no {key!r}" if key not in row else f"{key} = {value!r}"
        raise SkillOptError(
            f"{name}: the result of item {item.id!r} has {problem}; it must be a number from 0 to 1. Nothing was "
            "recorded for this item; mend the scoring in rollout and start again."
        )
    return number


def _turns(row: Row) -> int:
    value = row.get("n_turns")
    return value if isinstance(value, int) and value > 0 else 1


def _json(value: JSON) -> JSON:
    return json.loads(json.dumps(value, default=str, ensure_ascii=False))


def _shown(value: JSON) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]} ..."
