"""A miniature SpreadsheetBench: invented workbooks of four kinds, with requests, answers and scripts that solve them.

Each kind has a snare: a name with a comma, text that looks like a number, blanks that must stay blank, a column of
dates. Writing needs openpyxl: `pip install "skillopt[spreadsheetbench]"`.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from skillopt.datasets.splits import NAMES
from skillopt.types import JSON

Cell = str | int | float | dt.datetime | None
Table = list[list[Cell]]
_TOWNS = ("Harwick", "Millbrook", "Sandvik", "Porto Alto", "Greyhaven", "Lindow")
_GOODS = ("lamp oil", "rope", "tin plates", "candles", "wax paper", "nails", "linen thread", "chalk")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of task; `mark` is the part of the request by which its scripts are found."""

    sheet: str
    mark: str
    level: str
    position: Callable[[int], str]
    rows: Callable[[Random], Table]
    answer: Callable[[Table], Table]
    right: str
    wrong: str
    formula: str = ""


def write_spreadsheets(
    directory: Path, sizes: tuple[int, int, int] = (8, 4, 8), seed: int = 0, cases: int = 2
) -> tuple[Path, Path]:
    """Write `<split>/items.json` and `spreadsheet/<id>/` with so many tasks; returns (split_dir, data_root).

    With one case a task's workbooks are named initial.xlsx and golden.xlsx, with more they are numbered. The same seed
    gives the same tasks.
    """
    random, number = Random(seed), 0
    for split, size in zip(NAMES, sizes, strict=True):
        rows: list[dict[str, JSON]] = []
        for _ in range(size):
            number += 1
            rows.append(_task(directory, number, KINDS[number % len(KINDS)], random, cases))
        (directory / split).mkdir(parents=True, exist_ok=True)
        (directory / split / "items.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return directory, directory


def script_for(request: str, *, right: bool = True) -> str:
    """A script for a request written here: one that computes the answer, or one with the usual mistake."""
    kind = next(kind for kind in KINDS if kind.mark in request)
    return kind.right if right else kind.wrong


def formula_script_for(request: str) -> str:
    """A script that leaves the answer as formulas; "" where the kind has none."""
    return next(kind for kind in KINDS if kind.mark in request).formula


def _task(directory: Path, number: int, kind: Kind, random: Random, cases: int) -> dict[str, JSON]:
    id = f"{number:03d}-{random.randrange(100)}"
    folder = directory / "spreadsheet" / id
    folder.mkdir(parents=True, exist_ok=True)
    longest = 0
    for case in range(1, cases + 1):
        table = kind.rows(random)
        longest = max(longest, len(table))
        names = ("initial", "golden") if cases == 1 else (f"{case}_{id}_input", f"{case}_{id}_answer")
        _save(folder / f"{names[0]}.xlsx", kind.sheet, table)
        _save(folder / f"{names[1]}.xlsx", kind.sheet, kind.answer(table))
    town = _TOWNS[number % len(_TOWNS)]
    return {
        "id": id,
        "instruction": f"This is the workbook of our branch no. {number} in {town}. {kind.mark}",
        "instruction_type": kind.level,
        "spreadsheet_path": f"spreadsheet/{id}",
        "answer_position": kind.position(longest),
        "answer_sheet": kind.sheet,
        "data_position": "",
    }


def _save(path: Path, sheet: str, table: Table) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.title = sheet
    for row in table:
        page.append(row)
    notes = book.create_sheet("Notes")
    notes["A1"] = "Kept by the office; please leave this sheet as it is."
    book.save(path)
    book.close()


def _orders(random: Random) -> Table:
    """Some prices are text, as people type them."""
    rows: Table = [["Item", "Price", "Pieces", "Total"]]
    for name in random.sample(_GOODS, random.randrange(3, 8)):
        price = random.randrange(100, 2000) / 100
        rows.append([name, str(price) if random.random() < 0.3 else price, random.randrange(1, 40), None])
    return rows


def _with_totals(table: Table) -> Table:
    return [table[0], *([a, b, c, round(float(str(b)) * int(str(c)), 2)] for a, b, c, _ in table[1:])]


def _bills(random: Random) -> Table:
    rows: Table = [["Customer", "Days open", "Note"]]
    for name in random.sample(_TOWNS, random.randrange(3, 7)):
        rows.append([name, random.choice((5, 29, 30, 31, 75)), None])
    return rows


def _with_notes(table: Table) -> Table:
    return [table[0], *([a, b, "late" if int(str(b)) > 30 else None] for a, b, _ in table[1:])]


def _stock(random: Random) -> Table:
    rows: Table = [["Shelf", "Item"]]
    names = random.sample(_GOODS, random.randrange(4, 8))
    empty = random.randrange(len(names))
    for number, name in enumerate(names):
        rows.append([f"S{number}", None if number == empty else name])
    return rows


def _filled(table: Table) -> Table:
    return [row for row in table if row[1] is not None]


def _deliveries(random: Random) -> Table:
    rows: Table = [["Order", "Sent", "Due"]]
    for number in range(random.randrange(3, 7)):
        rows.append([f"O-{number}", dt.datetime(2024, random.randrange(1, 13), random.randrange(1, 29)), None])
    return rows


def _with_dates(table: Table) -> Table:
    due = (
        (a, sent, sent + dt.timedelta(days=14) if isinstance(sent, dt.datetime) else None) for a, sent, _ in table[1:]
    )
    return [table[0], *(list(row) for row in due)]


def _script(sheet: str, body: str) -> str:
    opening = f"import openpyxl\n\nbook = openpyxl.load_workbook(INPUT_PATH)\nsheet = book[{sheet!r}]\n"
    return f"{opening}{body}book.save(OUTPUT_PATH)\n"


def _each(sheet: str, *lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return _script(sheet, f"for row in range(2, sheet.max_row + 1):\n{body}")


KINDS: tuple[Kind, ...] = (
    Kind(
        "Orders",
        "Please fill in the total of each line: price times pieces.",
        "Cell-Level Manipulation",
        lambda rows: f"D2:D{rows}",
        _orders,
        _with_totals,
        _each("Orders", "a, b = sheet.cell(row, 2).value, sheet.cell(row, 3).value",
              "sheet.cell(row, 4).value = round(float(a) * b, 2)"),
        _each("Orders", "sheet.cell(row, 4).value = sheet.cell(row, 3).value"),
        _each("Orders", "sheet.cell(row, 4).value = f'=ROUND(B{row}*C{row},2)'"),
    ),
    Kind(
        "Bills, open",
        "Write late beside every bill that is open for more than 30 days, and leave the others blank.",
        "Cell-Level Manipulation",
        lambda rows: f"'Bills, open'!C2:C{rows}",
        _bills,
        _with_notes,
        _each("Bills, open", "sheet.cell(row, 3).value = 'late' if sheet.cell(row, 2).value > 30 else None"),
        _each("Bills, open", "sheet.cell(row, 3).value = 'late' if sheet.cell(row, 2).value >= 30 else 'in time'"),
        _each("Bills, open", "sheet.cell(row, 3).value = f'=IF(B{row}>30,\"late\",\"\")'"),
    ),
    Kind(
        "Stock",
        "Delete the rows of shelves that hold nothing and close the gaps.",
        "Sheet-Level Manipulation",
        lambda rows: "Stock!A:B",
        _stock,
        _filled,
        _script("Stock", "for row in range(sheet.max_row, 1, -1):\n    if sheet.cell(row, 2).value is None:\n"
                         "        sheet.delete_rows(row)\n"),
        _script("Stock", "for row in range(2, sheet.max_row + 1):\n    if sheet.cell(row, 2).value is None:\n"
                         "        sheet.cell(row, 1).value = None\n"),
    ),
    Kind(
        "Deliveries",
        "An order is due 14 days after it was sent. Please fill in the column.",
        "Cell-Level Manipulation",
        lambda rows: f"'Deliveries'!C2:C{rows}",
        _deliveries,
        _with_dates,
        "import datetime\n" + _each("Deliveries", "sent = sheet.cell(row, 2).value",
                                    "sheet.cell(row, 3).value = sent + datetime.timedelta(days=14)"),
        _each("Deliveries", "sheet.cell(row, 3).value = sheet.cell(row, 2).value"),
        _each("Deliveries", "sheet.cell(row, 3).value = f'=B{row}+14'"),
    ),
)  # fmt: skip
