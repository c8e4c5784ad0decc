"""The pages that hold an answer, for runs that ask for them. What cannot be found is said in their place.

A source address names a month and a page; the month leads to the file. An address without a month belongs to the only
file, or to the file in the same place of the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.envs.officeqa.corpus import Corpus
from skillopt.envs.officeqa.shelf import Document

PAGE_LIMIT = 24_000
TOTAL_LIMIT = 80_000
_CUT = "\n[... cut here]"
_MARK = re.compile(r"^(?:=== page (\d+) ===|--- PAGE (\d+) ---)[ \t]*$", re.MULTILINE)
_PAGE = re.compile(r"[?&]page=(\d+)")
_ISSUE = re.compile(r"/([a-z]+)-(\d{4})\b")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A page of a file, counted from 1."""

    file: str
    page: int


def places(files: Sequence[str], addresses: Sequence[str]) -> tuple[Place, ...]:
    """The pages that addresses name, each once, in their order."""
    found: dict[Place, None] = {}
    for index, address in enumerate(addresses):
        page = _PAGE.search(address)
        file = _file_of(address, index, files, len(addresses))
        if page and file:
            found[Place(file, int(page[1]))] = None
    return tuple(found)


def sources(corpus: Corpus, files: Sequence[str], addresses: Sequence[str] = ()) -> tuple[Document, ...]:
    """The documents with an answer that the corpus holds."""
    named = dict.fromkeys([*files, *(place.file for place in places(files, addresses))])
    return tuple(found for found in map(corpus.source, named) if found is not None)


def shown_pages(corpus: Corpus, files: Sequence[str], addresses: Sequence[str]) -> str:
    """The pages one after the other, within the limits."""
    parts: list[str] = []
    room = TOTAL_LIMIT
    for place in places(files, addresses):
        text = _cut(_page(corpus, place), min(PAGE_LIMIT, room))
        room -= len(text)
        parts.append(f"### {place.file}, page {place.page}\n\n{text}")
        if room <= len(_CUT):
            parts.append("[further pages are left out: the limit is reached]")
            break
    return "\n\n".join(parts) or "[no page is named for this question]"


def paged(text: str) -> dict[int, str]:
    """The pages of a text with page marks; marks that begin at 0 are moved, since addresses count from 1."""
    marks = list(_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    pages = {int(m[1] or m[2]): text[m.end() : end].strip() for m, end in zip(marks, ends, strict=True)}
    return {number + 1: page for number, page in pages.items()} if 0 in pages else pages


def _page(corpus: Corpus, place: Place) -> str:
    document = corpus.source(place.file)
    if document is None:
        return "[this bulletin is not in the corpus]"
    pages = paged(corpus.shelf.text(document).decode())
    if not pages:
        return "[this copy of the bulletin has no page marks]"
    return pages.get(place.page) or "[this page has no text]"


def _file_of(address: str, index: int, files: Sequence[str], addresses: int) -> str | None:
    issue = _ISSUE.search(address.lower())
    if issue and issue[1] in _MONTHS:
        month = f"{issue[2]}_{_MONTHS.index(issue[1]) + 1:02d}"
        # A few questions name an issue that is not in their list of files.
        return next((file for file in files if month in file), f"treasury_bulletin_{month}.txt")
    if len(files) == 1:
        return files[0]
    return files[index] if len(files) == addresses else None


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - len(_CUT))] + _CUT
