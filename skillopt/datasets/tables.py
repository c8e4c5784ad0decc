"""Tables as spreadsheets write them: commas, semicolons or tabs, quoted cells of any size, blank rows at the end.

The separator is the one the header holds most of, outside quotes: a guess from the whole file would be led astray by
prose in its cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from skillopt.errors import DataError

_SEPARATORS = (",", ";", "\t")
_WIDEST = 2**31 - 1


def table_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Row number as a spreadsheet counts (the header is row 1), and the cells under the header's names."""
    if "\0" in text:
        raise DataError(f"{path}: not a text file; save the table as CSV (in Excel: CSV UTF-8) and give that file.")
    separator, text = _separator(text)
    # The module has one limit for the whole process; it is only ever raised, so no two readers can disturb each other.
    csv.field_size_limit(max(csv.field_size_limit(), _WIDEST))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begun = 1
    try:
        header = _trimmed([name.strip() for name in next(reader, [])])
        _check_header(path, header, empty=not text.strip())
        begun = reader.line_num + 1
        for number, cells in enumerate(reader, start=2):
            begun = reader.line_num + 1
            if any(cell.strip() for cell in cells):
                yield number, _under(header, cells, f"{path}, line {reader.line_num}")
    except csv.Error as error:
        raise DataError(f"{path}, line {begun}: {_quoting(str(error))}.") from error


def _quoting(error: str) -> str:
    """What is wrong with the quotes of a row, in words that say how to mend it."""
    if "unexpected end" in error:
        return "a quote is opened here and never closed; close it, or write a quote inside a cell twice"
    return f"{error}; a cell with quotes in it stands in quotes, and its own are written twice"


def _under(header: list[str], cells: list[str], where: str) -> dict[str, str]:
    extra = len(cells) - len(header)
    if extra > 0 and not any(cell.strip() for cell in cells[len(header) :]):
        cells = cells[: len(header)]
    if len(cells) != len(header):
        hint = "Fill in what is missing." if extra < 0 else "A cell that holds the separator must stand in quotes."
        raise DataError(f"{where}: {len(cells)} cells under {len(header)} columns. {hint}")
    return dict(zip(header, cells, strict=True))


def _separator(text: str) -> tuple[str, str]:
    """The separator, and the text without the line `sep=;` by which Excel is told of it."""
    first, _, rest = text.partition("\n")
    told = first.strip().strip('"')
    if told.lower().startswith("sep=") and len(told) == 5:
        return told[-1], rest
    counts = dict.fromkeys(_SEPARATORS, 0)
    quoted = False
    for sign in text:
        quoted ^= sign == '"'
        if sign in "\r\n" and not quoted:
            break
        if sign in counts and not quoted:
            counts[sign] += 1
    return max(_SEPARATORS, key=lambda s: counts[s]), text


def _trimmed(header: list[str]) -> list[str]:
    """Spreadsheets write empty columns to the right of the last one in use."""
    while len(header) > 1 and not header[-1]:
        header = header[:-1]
    return header


def _check_header(path: Path, header: list[str], *, empty: bool) -> None:
    if not any(header):
        said = "the file is empty; its" if empty else "the"
        raise DataError(f"{path}: {said} first line must name the columns.")
    if "" in header or len(set(header)) != len(header):
        raise DataError(f"{path}, line 1: every column needs a name of its own; found {', '.join(map(repr, header))}.")
