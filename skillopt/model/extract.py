"""JSON out of a model's prose: strict where it can be, repaired only where the intent is plain, otherwise None.

Every scan is linear in the text: answers of a hundred thousand characters are normal, and some are garbage.
"""

from __future__ import annotations

import json
import re

from skillopt.types import JSON

_FENCE = re.compile(r"```[ \t]*json[^\S\n]*\n?(.*?)```", re.DOTALL | re.IGNORECASE)
_MARKS = re.compile(r'["\\\n{}\[\]]')
_CLOSES = {"}": "{", "]": "["}


def extract_json(text: str) -> JSON:
    """The JSON object of an answer: a fenced block, else the outermost braces, else one repairable object."""
    fenced = _fenced(text)
    if fenced is not None and (value := _strict(fenced)) is not None:
        return value
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end and (value := _strict(text[start : end + 1])) is not None:
        return value
    return _repaired(fenced) or _repaired(text)


def extract_json_array(text: str) -> list[JSON] | None:
    """The one JSON array of an answer. Two candidates are no answer: nobody can say which was meant."""
    fenced = _fenced(text)
    if fenced is not None and isinstance(value := _strict(fenced), list):
        return value
    spans = [s for s in top_level(text, "{[") if text[s[0]] == "["]
    arrays = [value for start, end in spans if isinstance(value := _strict(text[start:end]), list)]
    return arrays[0] if len(arrays) == 1 else None


def top_level(text: str, openers: str) -> list[tuple[int, int]]:
    """Spans of balanced brackets that lie in no other balanced bracket; double-quoted text is skipped."""
    open_at: list[tuple[str, int]] = []
    spans: list[tuple[int, int]] = []
    quoted, escaped_at = False, -1
    for match in _MARKS.finditer(text):
        mark, at = match.group(), match.start()
        if at == escaped_at:
            continue
        if mark == "\\":
            escaped_at = at + 1 if quoted else -1
        elif mark == '"':
            quoted = not quoted
        elif mark == "\n":
            # A lone quotation mark in prose (a 5" pipe) must not hide the object that follows.
            quoted = quoted and bool(open_at)
        elif quoted:
            continue
        elif mark in openers:
            open_at.append((mark, at))
        elif open_at and _CLOSES.get(mark) == open_at[-1][0]:
            start = open_at.pop()[1]
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, at + 1))
    return spans


def _fenced(text: str) -> str | None:
    match = _FENCE.search(text)
    return match.group(1) if match else None


def _strict(text: str) -> JSON:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str | None) -> dict[str, JSON] | None:
    spans = top_level(text, "{") if text else []
    if text is None or len(spans) != 1:
        return None
    candidate = text[slice(*spans[0])]
    if candidate[1:].lstrip()[:1] not in ('"', "}"):
        return None
    from json_repair import loads  # only broken answers pay for the import

    try:
        value = loads(candidate)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None
