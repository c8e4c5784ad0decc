"""Rows from files: JSON, JSONL and CSV. What cannot be read is said with its file and line.

Reading stops at the first broken line, since what follows one is rarely what its author meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.datasets.tables import table_rows
from skillopt.errors import DataError
from skillopt.types import JSON

Row = dict[str, JSON]

SUFFIXES = (".json", ".jsonl", ".csv")
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")


@dataclass(frozen=True, slots=True)
class Placed:
    """A row and where it stands in its file, in the words of whoever has the file open: `row 7`, `line 7`, `item 6`."""

    place: str
    row: Row


def read_rows(path: Path) -> list[Row]:
    """The rows of one file, by its suffix."""
    return [placed.row for placed in read_placed(path)]


def read_placed(path: Path) -> list[Placed]:
    """The same, each row with its place."""
    match path.suffix.lower():
        case ".json":
            return _from_json(path)
        case ".jsonl":
            return _from_jsonl(path)
        case ".csv" | ".tsv":
            return [Placed(f"row {number}", dict(cells)) for number, cells in table_rows(path, _text(path))]
        case suffix if suffix in _SPREADSHEETS:
            raise DataError(f"{path}: a spreadsheet; save it as CSV (in Excel: CSV UTF-8) and give that file.")
        case _:
            raise DataError(f"{path}: a data file ends in {', '.join(SUFFIXES)}.")


def data_files(folder: Path) -> tuple[Path, ...]:
    """The data files of a folder by name, JSON before JSONL before CSV; hidden files do not count."""
    found = (p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in SUFFIXES and p.name[0] != ".")
    return tuple(sorted(found, key=lambda p: (SUFFIXES.index(p.suffix.lower()), p.name)))


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        # "Unicode text" of a spreadsheet is UTF-16, and says so in its first two bytes.
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"The data file {path} does not exist.") from None
    except OSError as error:
        raise DataError(f"The data file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        excel = " (in Excel: Save as, CSV UTF-8)" if path.suffix.lower() in (".csv", ".tsv") else ""
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8{excel}.") from error


def _from_json(path: Path) -> list[Placed]:
    try:
        value = json.loads(_text(path))
    except json.JSONDecodeError as error:
        hint = " If every line is an object of its own, name the file .jsonl." if error.msg == "Extra data" else ""
        raise DataError(f"{path}, line {error.lineno}: {error.msg}.{hint}") from error
    if isinstance(value, list):
        return _rows(path, ((f"item {i}", row) for i, row in enumerate(cast("list[JSON]", value))))
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected an array of objects, or an object with a `data` array.")
    named = cast("dict[str, JSON]", value)
    if isinstance(named.get("data"), list):
        return _rows(path, ((f"data item {i}", row) for i, row in enumerate(named["data"])))
    rows = _rows(path, ((f"item {key!r}", row) for key, row in named.items()))
    return [Placed(p.place, {"id": key, **p.row}) for key, p in zip(named, rows, strict=True)]


def _from_jsonl(path: Path) -> list[Placed]:
    values: list[tuple[str, JSON]] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append((f"line {number}", json.loads(line)))
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {number}: {error.msg} (column {error.colno}).") from error
    return _rows(path, values)


def _rows(path: Path, values: Iterable[tuple[str, JSON]]) -> list[Placed]:
    rows: list[Placed] = []
    for place, value in values:
        if not isinstance(value, dict):
            raise DataError(f"{path}, {place}: expected an object, found {type(cast('object', value)).__name__}.")
        rows.append(Placed(place, cast("Row", value)))
    return rows
