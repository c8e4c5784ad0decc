"""What a rollout left in its folder about one item: the conversation and the prompts, in the guide's forms.

Files are found by looking, never by joining an item's id to a path.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.datasets.checks import safe_name
from skillopt.types import JSON, Turn, canonical

log = logging.getLogger(__name__)

_ROLES = frozenset({"user", "assistant", "tool", "action", "observation", "verdict"})


@dataclass(frozen=True, slots=True)
class Written:
    """`turns` is empty where there is no usable conversation."""

    turns: tuple[Turn, ...] = ()
    system: str = ""
    user: str = ""
    preview: str = ""


def written(folder: Path, id: str, *, alone: bool) -> Written:
    """What is there about the item; `alone`: the folder holds no other item's files."""
    texts = {name: _text(folder, id, name, alone) for name in _FILES}
    return Written(
        conversation(texts["conversation.json"]),
        texts["target_system_prompt.txt"],
        texts["target_user_prompt.txt"],
        texts["spreadsheet_preview.txt"],
    )


def conversation(text: str) -> tuple[Turn, ...]:
    """The events of a `conversation.json` as turns; an unreadable one counts as none."""
    if not text.strip():
        return ()
    try:
        events: JSON = json.loads(text)
    except ValueError as error:
        log.warning("a conversation.json is not JSON and is left out: %s", error)
        return ()
    rows = cast("list[JSON]", events) if isinstance(events, list) else []
    return tuple(turn for event in rows for turn in _turns(event) if turn.text.strip())


_FILES = ("conversation.json", "target_system_prompt.txt", "target_user_prompt.txt", "spreadsheet_preview.txt")


def _text(folder: Path, id: str, name: str, alone: bool) -> str:
    found = sorted(folder.rglob(name))
    if not alone:
        found = [file for file in found if _names(file.parent, folder, id)]
    return found[0].read_text(encoding="utf-8", errors="replace") if found else ""


def _names(place: Path, folder: Path, id: str) -> bool:
    under = place.relative_to(folder).as_posix()
    return place.name in (id, safe_name(id)) or under == f"predictions/{id}"


def _turns(event: JSON) -> tuple[Turn, ...]:
    if not isinstance(event, Mapping):
        return (Turn("assistant", _plain(event)),)
    row = cast("Mapping[str, JSON]", event)
    if row.get("type") == "tool_call":
        return Turn("action", _plain(row.get("cmd"))), Turn("observation", _plain(row.get("obs")))
    if "action" in row and "env_feedback" in row:
        thought, action = Turn("assistant", _plain(row.get("reasoning"))), Turn("action", _plain(row["action"]))
        return thought, action, Turn("observation", _plain(row["env_feedback"]))
    role = str(row.get("role") or "assistant")
    # A system message inside a conversation is the environment's verdict; the prompt has a file of its own.
    role = "verdict" if role == "system" else role if role in _ROLES else "assistant"
    return (Turn(role, _plain(row.get("content"))),)


def _plain(value: JSON) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical(value)
