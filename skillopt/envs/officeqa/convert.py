"""Bulletins as text with page marks: PDF through pypdf, parsed JSON pages as they are, tables as Markdown.

Run as a program (`python -m skillopt.envs.officeqa.convert CACHE FILE...`), so that a slow, greedy or hanging document
costs a child process and never the run. A result is named by its source's content, so it is made once per machine.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

from skillopt.errors import DataError
from skillopt.types import JSON

CONVERTED = (".pdf", ".json")
INSTALL = 'reading PDF files needs pypdf: pip install "skillopt[officeqa]"'
DAMAGED = 3
"""How the program ends when it has named damaged files; any other failure is its own."""
_FORM = "v1"
"""Part of a result's name; a change of the text's form takes another one."""
_CHUNK = 1 << 20


def page_mark(number: int) -> str:
    return f"=== page {number} ==="


def cached(path: Path, cache: Path) -> Path:
    """Where the text of this content is, or will be."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return cache / f"{digest.hexdigest()}.{_FORM}.txt"


def convert(path: Path, cache: Path) -> Path:
    """Make the text unless it is there; it gets its name only once it is whole."""
    target = cached(path, cache)
    if target.is_file():
        return target
    text = pdf_text(path) if path.suffix.lower() == ".pdf" else json_text(path)
    cache.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    part.write_bytes(text.encode("utf-8", "replace"))
    part.replace(target)
    return target


def pdf_text(path: Path) -> str:
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise DataError(INSTALL) from error
    # Remarks on fonts and cross-reference tables, hundreds a file, that nobody can act on.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        pages = [page.extract_text() for page in PdfReader(path).pages]
    except Exception as error:
        # Whatever a damaged file sets off in the parser, it is the file that must be mended.
        raise DataError(
            f"{path}: not a readable PDF ({type(error).__name__}: {error}). Replace the file, or take it away."
        ) from error
    return _paged(enumerate(pages, start=1))


def json_text(path: Path) -> str:
    """Elements page by page where the file is a parsed document; any other JSON as indented text."""
    try:
        value: JSON = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}). Replace the file, or take it away.") from error
    elements = _elements(value)
    if elements is None:
        return json.dumps(value, indent=1, ensure_ascii=False)
    pages: dict[int, list[str]] = {}
    at = 0
    for element in elements:
        at = _page_of(element, at)
        if content := str(element.get("content") or "").strip():
            pages.setdefault(at, []).append(tables_as_markdown(content))
    # Parsers count pages from 0, readers and addresses from 1.
    first = 1 if 0 in pages else 0
    return _paged((number + first, "\n\n".join(pages[number])) for number in sorted(pages))


def tables_as_markdown(text: str) -> str:
    """HTML tables as Markdown rows; text around them stays."""
    if "<table" not in text.lower():
        return text
    reader = _Tables()
    reader.feed(text)
    reader.close()
    return "\n".join(line for line in reader.lines if line.strip())


class _Tables(HTMLParser):
    """Keeps cells; a cell over several columns is repeated, so that every column keeps its heading."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._row: list[str] | None = None
        self._span = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._row = []
        elif tag in ("td", "th") and self._row is not None:
            given = dict(attrs).get("colspan") or "1"
            self._span = min(int(given), 50) if given.isdigit() else 1
            self._row.append("")

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if self._row:
            self._row[-1] = f"{self._row[-1]} {text}".strip()
        elif self._row is None and text:
            self.lines.append(text)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._row:
            self._row += [self._row[-1]] * (self._span - 1)
            self._span = 1
        elif tag == "tr" and self._row is not None:
            self.lines.append("| " + " | ".join(cell.replace("|", "/") for cell in self._row) + " |")
            self._row = None


def _elements(value: JSON) -> list[dict[str, JSON]] | None:
    holder: JSON = cast("dict[str, JSON]", value).get("document", value) if isinstance(value, dict) else None
    found: JSON = cast("dict[str, JSON]", holder).get("elements") if isinstance(holder, dict) else None
    if not isinstance(found, list):
        return None
    return [cast("dict[str, JSON]", row) for row in cast("list[JSON]", found) if isinstance(row, dict)]


def _page_of(element: dict[str, JSON], before: int) -> int:
    """The page an element says it is on; one that says nothing is where the one before it was."""
    boxes: JSON = element.get("bbox")
    for box in cast("list[JSON]", boxes) if isinstance(boxes, list) else ():
        number: JSON = cast("dict[str, JSON]", box).get("page_id") if isinstance(box, dict) else None
        if isinstance(number, int):
            return number
    return before


def _paged(pages: Iterable[tuple[int, str]]) -> str:
    return "\n\n".join(f"{page_mark(number)}\n{text.strip()}" for number, text in pages) + "\n"


def _failures(cache: Path, files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        try:
            convert(path, cache)
        except (DataError, OSError) as error:
            yield str(error) if str(path) in str(error) else f"{path}: {error}"


def main(arguments: list[str]) -> int:
    cache, *files = map(Path, arguments)
    problems = list(_failures(cache, files))
    sys.stderr.write("".join(" ".join(problem.split()) + "\n" for problem in problems))
    return DAMAGED if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
