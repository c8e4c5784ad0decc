"""Where the answer lies in a workbook: `'Sheet 1'!A1:B9,C2`, also in the broken spellings of the published data.

A position is read once, when the data is loaded. A sheet's name may hold spaces, commas and doubled quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
_CELL = r"\$?[A-Za-z]{1,3}\$?[0-9]{1,7}"
_SPAN = rf"{_CELL}(?:\s*:\s*{_CELL})?|\$?[A-Za-z]{{1,3}}\s*:\s*\$?[A-Za-z]{{1,3}}|\$?[0-9]{{1,7}}\s*:\s*\$?[0-9]{{1,7}}"
# A quoted name; the quote closed after the mark ('Sheet1!'A1); a bare name, to which one quote may have stuck.
_SHEET = r"'(?P<quoted>(?:[^']|'')+)'\s*!|'(?P<late>[^'!]+)!'|'?(?P<bare>[^'!]+)'?\s*!"
_PIECE = re.compile(rf"\s*(?:(?:{_SHEET})\s*)??(?P<span>{_SPAN})'?\s*(?:,|$)")


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells, corners included; `sheet` "" is the sheet that the task names otherwise."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int


def areas(position: str) -> tuple[Area, ...]:
    """The areas of a position; a ValueError says what cannot be read."""
    text = position.strip()
    if not text:
        raise ValueError("answer_position is empty: nothing would be compared, and every workbook would pass")
    return tuple(_pieces(text))


def column_name(column: int) -> str:
    """1 is A, 27 is AA."""
    name = ""
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def column_number(name: str) -> int:
    number = 0
    for letter in name.upper():
        number = number * 26 + ord(letter) - 64
    return number


def sheet_of(area: Area, answer_sheet: str, sheets: Sequence[str]) -> str | None:
    """The sheet's name as the workbook has it; None where there is no such sheet.

    An area without a name lies in `answer_sheet`, which may be a list of which the first is meant, else in the first
    sheet. Case and outer spaces do not count, as in Excel.
    """
    if area.sheet:
        return _named(area.sheet, sheets)
    if not answer_sheet.strip():
        return sheets[0] if sheets else None
    return _named(answer_sheet, sheets) or _named(answer_sheet.split(",")[0], sheets)


def _named(name: str, sheets: Sequence[str]) -> str | None:
    if name in sheets:
        return name
    plain = name.strip().strip("'").casefold()
    return next((sheet for sheet in sheets if sheet.strip().casefold() == plain), None)


def _pieces(text: str) -> Iterator[Area]:
    at, before = 0, ""
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            raise ValueError(f"answer_position {text!r}: {text[at:]!r} is no range such as 'Sheet 1'!A1:B9")
        name = found["quoted"] or found["late"] or found["bare"] or before
        # The next piece without a name of its own lies in the same sheet.
        before = name.replace("''", "'").strip()
        yield _area(before, found["span"], text)
        at = found.end()


def _area(sheet: str, span: str, text: str) -> Area:
    first, _, last = re.sub(r"[$\s]", "", span).partition(":")
    (column, row), (column2, row2) = _corner(first, 1, 1), _corner(last or first, LAST_COLUMN, LAST_ROW)
    left, right = sorted((column, column2))
    top, bottom = sorted((row, row2))
    if not top or right > LAST_COLUMN or bottom > LAST_ROW:
        raise ValueError(f"answer_position {text!r}: {span!r} lies outside of any sheet")
    return Area(sheet, left, top, right, bottom)


def _corner(text: str, column: int, row: int) -> tuple[int, int]:
    """A corner; a whole row or column takes its other number from the sheet's edge."""
    letters, digits = text.rstrip("0123456789"), text.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    return column_number(letters) if letters else column, int(digits) if digits else row
