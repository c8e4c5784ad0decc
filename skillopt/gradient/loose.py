"""Field types for model output: a null, a number in quotes or a stray entry is no reason to lose an answer.

What cannot be read becomes "not given"; only a missing answer (no patch, no edits) is an error, which earns a re-ask.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from skillopt.types import JSON

_INTEGER = re.compile(r"[+-]?\d{1,9}(?!\d)")


class Loose(BaseModel):
    """A model's object: unknown keys are ignored, and a null means that the key was left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: JSON) -> JSON:
        if not isinstance(value, dict):
            return value
        return {k: v for k, v in cast("dict[str, JSON]", value).items() if v is not None}


def as_text(value: JSON) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(as_text(v) for v in cast("list[JSON]", value) if v is not None)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def as_texts(value: JSON) -> tuple[str, ...]:
    values = cast("list[JSON]", value) if isinstance(value, list) else [value]
    return tuple(text for text in (as_text(v).strip() for v in values) if text)


def as_integer(value: JSON) -> int | None:
    """A whole number, also when it came as text or as 3.0; a boolean or anything else is not one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    found = _INTEGER.search(value) if isinstance(value, str) else None
    return int(found[0]) if found else None


def as_integers(value: JSON) -> tuple[int, ...]:
    values = cast("list[JSON]", value) if isinstance(value, list) else [value]
    return tuple(number for number in map(as_integer, values) if number is not None)


def as_notes(value: JSON) -> tuple[str, ...]:
    """Notes as texts, or as objects with a `note` or a `content`; what is neither is left out."""
    values = cast("list[JSON]", value) if isinstance(value, list) else [value]
    notes = (_note(each) for each in values)
    return tuple(note.strip() for note in notes if note.strip())


def _note(value: JSON) -> str:
    if isinstance(value, dict):
        row = cast("dict[str, JSON]", value)
        value = row.get("note") or row.get("content")
    return value if isinstance(value, str) else ""


def as_rows(value: JSON) -> JSON:
    """A list of objects without the entries that are none; a lone object is a list of one."""
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        return value
    return [row for row in cast("list[JSON]", value) if isinstance(row, dict)]


Text = Annotated[str, BeforeValidator(as_text)]
Texts = Annotated[tuple[str, ...], BeforeValidator(as_texts)]
Notes = Annotated[tuple[str, ...], BeforeValidator(as_notes)]
Integer = Annotated[int | None, BeforeValidator(as_integer)]
Integers = Annotated[tuple[int, ...], BeforeValidator(as_integers)]
