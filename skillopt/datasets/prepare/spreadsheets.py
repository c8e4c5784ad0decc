"""SpreadsheetBench: `dataset.json` and a tree of workbooks, of which a task's numbered pairs are copied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from skillopt.datasets.prepare.material import Material, inside
from skillopt.datasets.prepare.reading import lacking, text
from skillopt.datasets.prepare.recipe import Copy, Entry, HubPlace, Recipe
from skillopt.datasets.sources import Row

_PAIRS = (("input", "answer"), ("init", "golden"))
_BARE = ("initial.xlsx", "golden.xlsx")
_NUMBERED = re.compile(r"(?P<case>\d+_.+)_(?P<role>input|answer|init|golden)\.xlsx")


def _entries(material: Material) -> Iterator[Entry]:
    for row, path in material.rows(prefer="dataset.json"):
        yield _entry(row, path, material)


def _entry(row: Row, near: Path, material: Material) -> Entry:
    id = text(row, "id")
    place = f"spreadsheet/{id}"
    made: Row = {
        "id": id,
        "instruction": text(row, "instruction"),
        "instruction_type": text(row, "instruction_type"),
        "spreadsheet_path": place,
        "answer_position": text(row, "answer_position"),
        "answer_sheet": text(row, "answer_sheet"),
        "data_position": text(row, "data_position"),
    }
    lacks = lacking(made, "id", "instruction", "answer_position")
    if PurePosixPath(id).name != id:
        return Entry(id, made, lacks=lacks or "an id that is no folder name")
    books = _workbooks(text(row, "spreadsheet_path") or place, id, near, material)
    copies = tuple(Copy(book, f"{place}/{book.name}") for book in books)
    return Entry(id, made, copies, lacks=lacks or ("" if copies else "no pair of workbooks"))


def _workbooks(named: str, id: str, near: Path, material: Material) -> list[Path]:
    for folder in material.folders(near):
        for name in (named, f"spreadsheet/{id}", id):
            found = inside(folder, name)
            if found and found.is_dir() and (books := _pairs(found)):
                return books
    return []


def _pairs(folder: Path) -> list[Path]:
    """The workbooks that come as question and answer; a lone one cannot be judged."""
    books = {path.name: path for path in folder.iterdir() if path.suffix.lower() == ".xlsx"}
    found: list[str] = []
    for case in sorted({match["case"] for name in books if (match := _NUMBERED.fullmatch(name))}):
        for pair in _PAIRS:
            names = [f"{case}_{role}.xlsx" for role in pair]
            found.extend(names if all(name in books for name in names) else ())
    if not found and all(name in books for name in _BARE):
        found.extend(_BARE)
    return [books[name] for name in found]


SPREADSHEETBENCH = Recipe(
    "spreadsheetbench",
    _entries,
    licence="SpreadsheetBench, CC BY-SA 4.0 (RUCKBReasoning/SpreadsheetBench).",
    by_hand="download spreadsheetbench_verified_400.tar.gz from huggingface.co/datasets/KAKA22/SpreadsheetBench and "
    "give it as SOURCE.",
    hub=HubPlace("KAKA22/SpreadsheetBench", patterns=("spreadsheetbench_verified_400.tar.gz",)),
)
