"""Edits of the body. Regions and front matter are not part of the string an edit sees, so none can reach them.

Matching is exact first, then indifferent to white space. A target that fits twice is refused instead of guessed, and
an insertion point that cannot be found is reported instead of becoming an append.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from skillopt.skill.regions import cleaned, has_exact_marker, has_marker
from skillopt.types import Edit, EditReport

_PREVIEW = 200
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_BARE_BULLET = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?")
_NEWLINES = "\r\n"


@dataclass(frozen=True, slots=True)
class Page:
    """What an edit is applied to. `shielded` is all readable text, to tell a protected target from an absent one."""

    body: str
    shielded: str = ""
    has_regions: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """The body after one edit; it is unchanged unless the status begins with `applied`."""

    body: str
    status: str


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Squeezed:
    """A text with every run of white space made one blank, and where each word stands here and in the original."""

    text: str
    here: tuple[int, ...]
    there: tuple[int, ...]

    def origin(self, start: int, end: int) -> _Span:
        return _Span(self._back(start), self._back(end - 1) + 1)

    def _back(self, at: int) -> int:
        word = bisect_right(self.here, at) - 1
        return self.there[word] + at - self.here[word]


def apply_edit(page: Page, edit: Edit) -> Edited:
    """Apply one edit. A result that would spell a marker is refused: pieces must not join into a region."""
    edited = _apply(page, edit)
    if has_exact_marker(edited.body):
        return Edited(page.body, "skipped_protected_region")
    return edited


def report(index: int, edit: Edit, status: str) -> EditReport:
    return EditReport(index, edit.op, edit.target[:_PREVIEW], edit.content[:_PREVIEW], status)


def _apply(page: Page, edit: Edit) -> Edited:
    op, content = edit.op.strip().lower(), cleaned(edit.content)
    if op not in ("append", "insert_after", "replace", "delete"):
        return Edited(page.body, "skipped_unknown_op")
    if op != "delete" and not content:
        return Edited(page.body, "skipped_no_content")
    if op == "append":
        where = "append_before_protected_region" if page.has_regions else "append"
        return Edited(_appended(page.body, content), f"applied_{where}")
    if not edit.target.strip():
        return _without_target(page, op, content)
    span = _find(page, edit.target, op)
    if isinstance(span, str):
        return Edited(page.body, span)
    match op:
        case "insert_after":
            return Edited(_inserted(page.body, span, content), "applied_insert_after")
        case "replace":
            return Edited(page.body[: span.start] + content + page.body[span.end :], "applied_replace")
        case _:
            return Edited(_deleted(page.body, span), "applied_delete")


def _without_target(page: Page, op: str, content: str) -> Edited:
    if op != "insert_after":
        return Edited(page.body, f"skipped_{op}_missing_target")
    where = "before_protected_region" if page.has_regions else "append"
    return Edited(_appended(page.body, content), f"applied_insert_after_fallback_{where}")


def _find(page: Page, target: str, op: str) -> _Span | str:
    """The one place the target stands at, without surrounding white space, or the status that says why not."""
    if has_marker(target):
        return "skipped_protected_region"
    first = page.body.find(target)
    if first >= 0:
        twice = page.body.find(target, first + 1) >= 0
        return "skipped_ambiguous_target" if twice else _trimmed(page.body, first, first + len(target))
    loose, words = _squeezed(page.body), " ".join(target.split())
    first = loose.text.find(words)
    if first >= 0:
        twice = loose.text.find(words, first + 1) >= 0
        return "skipped_ambiguous_target" if twice else loose.origin(first, first + len(words))
    shielded = words in " ".join(page.shielded.split())
    return "skipped_protected_region" if shielded else f"skipped_{op}_target_not_found"


def _squeezed(body: str) -> _Squeezed:
    words = tuple(re.finditer(r"\S+", body))
    ends = accumulate((len(word[0]) + 1 for word in words), initial=0)
    return _Squeezed(" ".join(word[0] for word in words), tuple(ends)[:-1], tuple(word.start() for word in words))


def _trimmed(body: str, start: int, end: int) -> _Span:
    text = body[start:end]
    return _Span(end - len(text.lstrip()), start + len(text.rstrip()))


def _appended(body: str, content: str) -> str:
    before = body.rstrip()
    return f"{before}\n\n{content}\n" if before else f"{content}\n"


def _inserted(body: str, span: _Span, content: str) -> str:
    """Put content on the lines after the target's last line: tight between list items, else with blank lines around."""
    line_end = body.find("\n", span.end)
    before, after = (body, "") if line_end < 0 else (body[:line_end], body[line_end + 1 :])
    before = before.rstrip(_NEWLINES)
    target_line = before[before.rfind("\n") + 1 :]
    tight = _LIST_ITEM.match(target_line) and _LIST_ITEM.match(content)
    head = f"{before}\n{content}" if tight else f"{before}\n\n{content}"
    if not after.strip():
        return f"{head}\n"
    if tight and _LIST_ITEM.match(after):
        return f"{head}\n{after}"
    return f"{head}\n\n{after.lstrip(_NEWLINES)}"


def _deleted(body: str, span: _Span) -> str:
    """Remove the target; when only a bullet would stay on its lines, remove the lines too and leave no hole."""
    line_start = body.rfind("\n", 0, span.start) + 1
    line_end = body.find("\n", span.end)
    line_end = len(body) if line_end < 0 else line_end
    bare = _BARE_BULLET.fullmatch(body[line_start : span.start]) and not body[span.end : line_end].strip()
    if not bare:
        before, after = body[: span.start], body[span.end :]
        return before + (after[1:] if before[-1:] == after[:1] == " " else after)
    return _closed(body[:line_start], body[line_end + 1 :])


def _closed(before: str, after: str) -> str:
    head, tail = before.rstrip(_NEWLINES), after.lstrip(_NEWLINES)
    gap = before[len(head) :] + after[: len(after) - len(tail)]
    if not head:
        return tail
    if not tail:
        return f"{head}\n"
    return head + ("\n\n" if gap.count("\n") > 2 else gap) + tail
