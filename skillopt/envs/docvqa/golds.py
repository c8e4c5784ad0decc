"""Expected answers as data sets write them: a text, a list, a list written as text, or objects around any of these.

A table can hold a list only as text, and whoever exported it chose between JSON and Python's own form; both are read.
"""

from __future__ import annotations

import ast
import json
import tokenize
import warnings
from collections.abc import Iterator
from io import StringIO
from typing import cast

from skillopt.types import JSON

_HOLDERS = ("answers", "ground_truth", "answer")
_MEMBERS = ("text", "answer", "value")


def golds(value: JSON) -> tuple[str, ...]:
    """The accepted answers in order, each once; a `ValueError` says why there are none."""
    found = tuple(dict.fromkeys(_texts(value)))
    if not found:
        raise ValueError("there is no expected answer (answers, answer or ground_truth)")
    return found


def listed(text: str) -> JSON:
    """What a text that begins with a bracket stands for; any other text, and one that cannot be read, is itself."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _literal(text)


def _literal(text: str) -> JSON:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash in a text is no concern of the reader's
            value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    if _joined(text.strip()):
        raise ValueError(
            f"the list {text[:80]!r} has no commas between its texts, as numpy writes it; export it as a JSON list"
        )
    return value


def _joined(text: str) -> bool:
    """Whether two texts stand side by side: Python would silently read them as one."""
    before = -1
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.STRING and before == tokenize.STRING:
            return True
        before = before if token.type in (tokenize.NL, tokenize.NEWLINE) else token.type
    return False


def _texts(value: JSON, names: tuple[str, ...] = _HOLDERS) -> Iterator[str]:
    if isinstance(value, str):
        read = listed(value)
        yield from (value.strip(),) if isinstance(read, str) else _texts(read, names)
    elif isinstance(value, (list, tuple)):
        for member in cast("list[JSON]", value):
            yield from _texts(member, _MEMBERS)
    elif isinstance(value, dict):
        held = cast("dict[str, JSON]", value)
        # An object in a list is one answer, an object around a list holds them all; exports mix the two.
        name = next((n for n in (*names, *_HOLDERS, *_MEMBERS) if held.get(n) is not None), None)
        yield from _texts(held[name], _MEMBERS) if name else ()
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:  # NaN marks a gap
        yield str(value)
