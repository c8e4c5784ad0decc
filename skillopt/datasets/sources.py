"""Rows from files: JSON, JSONL and CSV. What cannot be read is said with its file and line.

Reading stops at the first broken line, since what follows one is rarely what its author meant.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from skillopt.errors import DataError
from skillopt.types import JSON

Row = dict[str, JSON]

SUFFIXES = (".json", ".jsonl", ".csv")


def read_rows(path: Path) -> list[Row]:
    """The rows of one file, by its suffix."""
    match path.suffix.lower():
        case ".json":
            return _from_json(path)
        case ".jsonl":
            return _from_jsonl(path)
        case ".csv":
            return _from_csv(path)
        case _:
            raise DataError(f"{path}: a data file ends in {', '.join(SUFFIXES)}.")


def data_files(folder: Path) -> tuple[Path, ...]:
    """The data files of a folder by name, JSON before JSONL before CSV; hidden files do not count."""
    found = (p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in SUFFIXES and p.name[0] != ".")
    return tuple(sorted(found, key=lambda p: (SUFFIXES.index(p.suffix.lower()), p.name)))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"The data file {path} does not exist.") from None
    except OSError as error:
        raise DataError(f"The data file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8.") from error


def _from_json(path: Path) -> list[Row]:
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
    return [{"id": key, **row} for key, row in zip(named, rows, strict=True)]


def _from_jsonl(path: Path) -> list[Row]:
    values: list[tuple[str, JSON]] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append((f"line {number}", json.loads(line)))
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {number}: {error.msg} (column {error.colno}).") from error
    return _rows(path, values)


def _from_csv(path: Path) -> list[Row]:
    """Rows under the header's names, all values text."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    rows: list[Row] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(path, header)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise DataError(f"{path}, line {reader.line_num}: {len(cells)} cells under {len(header)} columns.")
            rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}.") from error
    return rows


def _check_header(path: Path, header: list[str]) -> None:
    if not any(header):
        raise DataError(f"{path}: the first line must name the columns.")
    if "" in header or len(set(header)) != len(header):
        raise DataError(f"{path}, line 1: every column needs a name of its own; found {', '.join(map(repr, header))}.")


def _rows(path: Path, values: Iterable[tuple[str, JSON]]) -> list[Row]:
    rows: list[Row] = []
    for place, value in values:
        if not isinstance(value, dict):
            raise DataError(f"{path}, {place}: expected an object, found {type(cast('object', value)).__name__}.")
        rows.append(cast("Row", value))
    return rows
