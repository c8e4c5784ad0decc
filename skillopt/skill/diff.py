"""What changed between two documents: lines for files and terminals, words for displays that colour."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text both documents have, or only the new (`insert`) or the old one (`delete`)."""

    kind: Literal["equal", "insert", "delete"]
    text: str


def unified(old: str, new: str, *, old_name: str = "before", new_name: str = "after") -> str:
    """A unified diff, "" when nothing changed. A last line without newline is marked as `diff` does."""
    rows = difflib.unified_diff(_lines(old), _lines(new), old_name, new_name)
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def word_diff(old: str, new: str) -> tuple[Span, ...]:
    """The change word by word: equal and deleted spans spell the old text, equal and inserted ones the new.

    Lines are compared first and words only within changed lines, so long documents stay quick.
    """
    before, after = _lines(old), _lines(new)
    spans: list[Span] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        left, right = "".join(before[i:j]), "".join(after[k:m])
        spans.extend((Span("equal", left),) if tag == "equal" else _words(left, right))
    return _merged(spans)


def _words(old: str, new: str) -> list[Span]:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    spans: list[Span] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            spans.append(Span("equal", "".join(before[i:j])))
            continue
        spans.append(Span("delete", "".join(before[i:j])))
        spans.append(Span("insert", "".join(after[k:m])))
    return spans


def _merged(spans: list[Span]) -> tuple[Span, ...]:
    """Neighbours of one kind become one span; empty ones go."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].kind == span.kind:
            merged[-1] = Span(span.kind, merged[-1].text + span.text)
        elif span.text:
            merged.append(span)
    return tuple(merged)


def _lines(text: str) -> list[str]:
    """Lines with their newlines; only a newline ends a line, whatever else Unicode calls a separator."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
