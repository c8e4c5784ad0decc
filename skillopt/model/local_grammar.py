"""What a local model may write, as llama.cpp's grammars say it: one of a few replies, or JSON of a schema.

A small model may go round in circles, and greedily it never leaves them: lists and explanations get an end here, so
that the part that matters is still reached, and an example of the form, which the grammar holds anyway, is left out of
the question: a small model copies it instead of answering. Larger models elsewhere need no such fence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from skillopt.model.types import Message
from skillopt.types import JSON

MOST_ITEMS = 8
MOST_CHARACTERS = 400
_EXAMPLE = re.compile(r"^(?:[^\n]*:\n+)?```json\n.*?^```[ \t]*$\n?", re.MULTILINE | re.DOTALL)
EXPLANATIONS = frozenset({"reasoning", "reason", "why", "description", "failure_type", "confidence"})


def choice(options: Sequence[str], lead: str = "") -> str:
    """A grammar of these replies and no other; `lead` is what the layout puts before a reply."""
    return "root ::= " + " | ".join(json.dumps(lead + option, ensure_ascii=False) for option in options)


def without_examples(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation whose instructions show no JSON; what the task itself brings along stays."""
    return tuple(
        replace(message, content=_EXAMPLE.sub("", message.text)) if message.role == "system" else message
        for message in messages
    )


def bounded(schema: Mapping[str, JSON], name: str = "") -> dict[str, JSON]:
    """The schema with an end to every list and every explanation."""
    row = {key: _inside(key, value) for key, value in schema.items()}
    if row.get("type") == "array":
        row.setdefault("maxItems", MOST_ITEMS)
    if row.get("type") == "string" and name in EXPLANATIONS and "enum" not in row:
        row.setdefault("maxLength", MOST_CHARACTERS)
    return row


def _inside(key: str, value: JSON) -> JSON:
    if key in ("properties", "$defs"):
        return {name: bounded(part, name) for name, part in cast("Mapping[str, Mapping[str, JSON]]", value).items()}
    if key == "items" and isinstance(value, Mapping):
        return bounded(cast("Mapping[str, JSON]", value))
    if key in ("anyOf", "oneOf", "allOf"):
        return [bounded(part) for part in cast("list[Mapping[str, JSON]]", value)]
    return value
