"""How the synthetic optimizer reads a prompt: tagged sections, trajectories, numbered lists, JSON wherever it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from skillopt.testing.knacks import BY_ASK, QUESTION, Knack
from skillopt.types import JSON

Row = dict[str, JSON]

PAYLOADS = ("edits", "revise_suggestions", "skill_candidates")
_BUDGET = re.compile(r"at most (\d+)", re.IGNORECASE)
_CATEGORY = re.compile(rf"{QUESTION.pattern}|((?i:regress|persist|improv|stable))")
_NUMBERED = re.compile(r"^[ \t]*(?:[#*-]+[ \t]*)?(?:edit[ \t]+)?[\[(]?(\d+)[\]).:]", re.IGNORECASE | re.MULTILINE)
_SUPPORT = re.compile(r"support\w*\W{1,6}(\d+)|(\d+) (?:items|supporting)", re.IGNORECASE)


def section(user: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", user, re.DOTALL)
    return found.group(1) if found else ""


def budget(user: str) -> int:
    found = _BUDGET.search(user)
    return int(found.group(1)) if found else 4


def trajectories(user: str) -> list[tuple[str, Knack]]:
    """Each trajectory's id and knack; a text without trajectory tags is read question by question."""
    blocks = re.findall(r"<trajectory>\n(.*?)\n</trajectory>", user, re.DOTALL)
    rows: dict[str, Knack] = {}
    for block in blocks or [user]:
        for number, found in enumerate(QUESTION.finditer(block)):
            knack = BY_ASK.get(found.group(2))
            if knack is None or (blocks and number):
                continue
            name = re.search(r"^id: (.+)$", block, re.MULTILINE) if blocks else None
            rows.setdefault(name.group(1).strip() if name else found.group(), knack)
    return list(rows.items())


def failing(comparison: str) -> Iterator[Knack]:
    """Knacks of the questions that stand under a heading of regressed or persistent failures."""
    heading = "persist"
    for found in _CATEGORY.finditer(comparison):
        heading = (found.group(3) or heading).lower()
        knack = BY_ASK.get(found.group(2) or "")
        if knack is not None and heading in ("regress", "persist"):
            yield knack


def values(text: str) -> Iterator[JSON]:
    """Every JSON value in a text."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        yield value


def payload(user: str) -> str:
    """What the patches in a text hold: edits, suggestions or documents."""
    return next((key for key in reversed(PAYLOADS) if f'"{key}"' in user), PAYLOADS[0])


def proposals(user: str) -> Iterator[Row]:
    """Every proposal of every JSON value in the text, wherever it is nested."""
    for value in values(user):
        yield from _nested(value)


def _nested(value: JSON) -> Iterator[Row]:
    if isinstance(value, list):
        for part in value:
            yield from _nested(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in PAYLOADS and isinstance(part, list):
                yield from (edit for edit in part if isinstance(edit, dict))
            else:
                yield from _nested(part)


def numbered(text: str) -> dict[int, str]:
    """Numbered entries, by their numbers; a number out of sequence belongs to an entry's own text."""
    starts: list[tuple[int, int]] = []
    for found in _NUMBERED.finditer(text):
        number = int(found.group(1))
        if number == (starts[-1][0] + 1 if starts else number if number < 2 else -1):
            starts.append((number, found.start()))
    ends = [start for _, start in starts[1:]] + [len(text)]
    return {number: text[start:end] for (number, start), end in zip(starts, ends, strict=True)}


def supported(entry: str) -> int:
    found = _SUPPORT.search(entry)
    return int(found.group(1) or found.group(2)) if found else 0
