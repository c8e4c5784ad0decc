"""What the target is shown of the first workbook: each sheet's size and its first rows, as `A1=value`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import openpyxl

from skillopt.envs.spreadsheetbench.cells import quietly
from skillopt.envs.spreadsheetbench.positions import column_name

ROWS, COLUMNS, CHARACTERS = 5, 20, 40
_MOST_SHEETS = 20


def preview(path: Path) -> str:
    """Takes long for a large workbook: not for the event loop."""
    with quietly():
        book = openpyxl.load_workbook(path, read_only=True)
        try:
            shown = [_sheet(sheet) for sheet in book.worksheets[:_MOST_SHEETS]]
        finally:
            book.close()
    rest = len(book.sheetnames) - len(shown)
    return "\n\n".join([*shown, *([f"[{rest} more sheets]"] if rest > 0 else [])])


def _sheet(sheet: openpyxl.worksheet._read_only.ReadOnlyWorksheet) -> str:  # pyright: ignore
    if sheet.max_row is None or sheet.max_column is None:
        sheet.calculate_dimension(force=True)
    rows, columns = sheet.max_row or 0, sheet.max_column or 0
    lines = [_row(number, values) for number, values in enumerate(_values(sheet), 1)]
    note = [f"[{rows - ROWS} more rows]"] if rows > ROWS else []
    return "\n".join([f"Sheet {sheet.title!r}: {rows} rows, {columns} columns", *lines, *note])


def _values(sheet: openpyxl.worksheet._read_only.ReadOnlyWorksheet) -> Iterable[tuple[object, ...]]:  # pyright: ignore
    return sheet.iter_rows(max_row=ROWS, max_col=min(COLUMNS, sheet.max_column or 1), values_only=True)


def _row(number: int, values: tuple[object, ...]) -> str:
    filled = [f"{column_name(c)}{number}={_short(v)}" for c, v in enumerate(values, 1) if v is not None and v != ""]
    return " | ".join(filled) or f"[row {number} is empty]"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= CHARACTERS else text[:CHARACTERS] + "..."
