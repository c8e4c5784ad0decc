"""Pydantic's findings in the house's words: what must hold, what was given, what was probably meant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pydantic_core import ErrorDetails

from skillopt.config.suggest import did_you_mean
from skillopt.types import JSON

_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "int": "a whole number",
        "float": "a number",
        "finite": "a finite number",
        "bool": "true or false",
        "string": "text",
        "list": "a list",
        "tuple": "a list",
        "dict": "a mapping",
        "mapping": "a mapping",
        "model": "a section with `key: value` lines below it",
    }
)
_LIMITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "greater_than_equal": ("at least", "ge"),
        "greater_than": ("more than", "gt"),
        "less_than_equal": ("at most", "le"),
        "less_than": ("less than", "lt"),
    }
)


def phrase(error: ErrorDetails, *, secret: bool) -> str:
    """One sentence for one finding. The value of a credential is never part of it."""
    context = error.get("ctx", {})
    got = "" if secret else f", got {shown(error['input'])}"
    if error["type"] in _LIMITS:
        word, name = _LIMITS[error["type"]]
        return f"must be {word} {context[name]:g}{got}"
    if error["type"] == "literal_error":
        return _one_of(error, got)
    if error["type"] == "missing":
        return "must be given"
    if error["type"] == "value_error":
        text = str(context["error"])
        return text if "got" in text else text + got
    kind = _KINDS.get(error["type"].partition("_")[0])
    return f"must be {kind}{got}" if kind else error["msg"][:1].lower() + error["msg"][1:] + got


def _one_of(error: ErrorDetails, got: str) -> str:
    words = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
    listed = ", ".join(w or "(blank)" for w in words)
    meant = did_you_mean(str(error["input"]), words) if got else ""
    return f"must be one of {listed}{got}{meant}"


def shown(value: JSON) -> str:
    """A value as the reader would write it, cut to a line's length."""
    plain: Callable[[JSON], str] = str
    text = json.dumps(value, ensure_ascii=False, default=plain)
    return text if len(text) <= 60 else f"{text[:57]}..."
