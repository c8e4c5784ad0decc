"""What the answer workbooks hold in the answer's range, read once; and the reply that would reproduce it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import openpyxl

from skillopt.envs.spreadsheetbench.cases import Case
from skillopt.envs.spreadsheetbench.cells import EMPTY, Cells, Unreadable, quietly, read
from skillopt.envs.spreadsheetbench.positions import Area, areas, sheet_of
from skillopt.envs.spreadsheetbench.script import as_reply
from skillopt.envs.spreadsheetbench.values import Value

_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Gold:
    """The areas with the names of their sheets, and what stands there. `problem`: why nothing can be compared."""

    areas: tuple[Area, ...] = ()
    cells: Cells = EMPTY
    problem: str = ""


class Golds:
    """Reads answers; each is opened once, however often its task is tried."""

    def __init__(self) -> None:
        self._read = lru_cache(maxsize=_REMEMBERED)(_gold)

    def of(self, case: Case, position: str, answer_sheet: str) -> Gold:
        """Takes long for a large workbook: not for the event loop."""
        return self._read(case.answer, case.answer_sha, position, answer_sheet)


def gold_script(golds: Sequence[tuple[Case, Gold]]) -> str:
    """A script that writes the expected cells; it knows a case by its input's digest."""
    known = {case.input_sha: _literals(gold) for case, gold in golds}
    rows = "".join(f"    {sha!r}: [\n{''.join(lines)}    ],\n" for sha, lines in known.items())
    places = {(place.sheet, place.row, place.column) for _, gold in golds for place in gold.cells.formulas}
    return _SCRIPT.replace("PLACES", repr(sorted(places)), 1).replace("ROWS", rows, 1)


def gold_reply(golds: Sequence[tuple[Case, Gold]]) -> str:
    return as_reply(gold_script(golds))


_SCRIPT = """import datetime
import hashlib

import openpyxl

CELLS = {
ROWS}
FORMULAS = PLACES
with open(INPUT_PATH, "rb") as file:
    name = hashlib.sha256(file.read()).hexdigest()
book = openpyxl.load_workbook(INPUT_PATH)
for sheet, left, top, right, bottom, cells in CELLS[name]:
    page = book[sheet] if sheet in book.sheetnames else book.create_sheet(sheet)
    for merged in list(page.merged_cells.ranges):
        page.unmerge_cells(str(merged))
    for row in page.iter_rows(top, min(bottom, page.max_row), left, min(right, page.max_column)):
        for cell in row:
            cell.value = None
    for row, column, value in cells:
        cell = page.cell(row, column)
        cell.value = value
        if isinstance(value, str) and (sheet, row, column) not in FORMULAS:
            cell.data_type = "s"
book.save(OUTPUT_PATH)
"""


def _literals(gold: Gold) -> list[str]:
    return [
        f"        ({a.sheet!r}, {a.left}, {a.top}, {a.right}, {a.bottom}, {_cells(gold.cells, a)}),\n"
        for a in gold.areas
    ]


def _cells(cells: Cells, area: Area) -> str:
    inside = (
        (place, value)
        for place, value in (*cells.values.items(), *cells.formulas.items())
        if place.sheet == area.sheet
        and area.left <= place.column <= area.right
        and area.top <= place.row <= area.bottom
    )
    return "[" + ", ".join(f"({place.row}, {place.column}, {_literal(value)})" for place, value in inside) + "]"


def _literal(value: Value) -> str:
    # Python writes dates as datetime.datetime(...), which the script's imports know.
    return "''" if value is None else repr(value)


def _gold(path: Path, sha: str, position: str, answer_sheet: str) -> Gold:
    """`sha` stands in the cache's key: a file that was replaced is read anew."""
    try:
        sheets = _sheets(path)
        found = [(area, sheet_of(area, answer_sheet, sheets)) for area in areas(position)]
        if absent := [area.sheet or answer_sheet for area, sheet in found if sheet is None]:
            return Gold(problem=f"the answer workbook {path.name} has no sheet {', '.join(map(repr, absent))}")
        named = tuple(replace(area, sheet=sheet) for area, sheet in found if sheet is not None)
        with quietly():
            return Gold(named, read(str(path), named))
    except (Unreadable, ValueError, KeyError, OSError) as error:
        return Gold(problem=f"the answer workbook {path.name} cannot be read: {error}")


def _sheets(path: Path) -> list[str]:
    with quietly():
        book = openpyxl.load_workbook(path, read_only=True)
        book.close()
    return list(book.sheetnames)
