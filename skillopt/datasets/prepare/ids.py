"""Id manifests: which published item belongs to which split, and in what order.

A manifest that names an id twice, or names what is not there, would quietly make another benchmark; both are refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.datasets.prepare.material import sha256, tree_digest
from skillopt.datasets.sources import Row, data_files, read_rows
from skillopt.datasets.splits import NAMES, SplitName, canonical_split
from skillopt.errors import DataError
from skillopt.types import JSON

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Manifest:
    """The rows of a manifest by split; every one has an `id`."""

    name: str
    sha256: str
    splits: Mapping[SplitName, tuple[Row, ...]]


def read_manifest(path: Path) -> Manifest:
    """A directory with train/, val/ and test/, a JSON object with those names, or rows with `id` and `split`."""
    if path.is_dir():
        files = {name: _file(path, name) for name in NAMES}
        splits: dict[SplitName, tuple[Row, ...]] = {name: tuple(read_rows(files[name])) for name in NAMES}
        digest = str(tree_digest(path, files.values())["sha256"])
    else:
        splits, digest = _single(path), sha256(path) if path.is_file() else ""
    _check(path, splits)
    return Manifest(path.resolve().name, digest, splits)


def named(ids: Iterable[str]) -> str:
    """The first few, and how many more."""
    found = list(ids)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(map(repr, found[:_SHOWN])) + more


def _file(folder: Path, name: SplitName) -> Path:
    files = data_files(folder / name) if (folder / name).is_dir() else ()
    if not files:
        raise DataError(f"The manifest {folder} has no {name}/ with a .json, .jsonl or .csv file.")
    return files[0]


def _single(path: Path) -> dict[SplitName, tuple[Row, ...]]:
    value: JSON = None
    if path.suffix.lower() == ".json" and path.is_file():
        try:
            value = json.loads(path.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise DataError(f"{path}: not JSON: {error}") from error
    if isinstance(value, dict) and set(NAMES) <= set(cast("dict[str, JSON]", value)):
        return {name: tuple(_row(path, one) for one in cast("dict[str, list[JSON]]", value)[name]) for name in NAMES}
    rows = read_rows(path)
    if any(not row.get("split") for row in rows):
        raise DataError(f"{path}: a manifest in one file has the keys train, val and test, or rows with id and split.")
    placed = [(canonical_split(str(row["split"])), row) for row in rows]
    return {name: tuple(row for split, row in placed if split == name) for name in NAMES}


def _row(path: Path, value: JSON) -> Row:
    if isinstance(value, dict):
        return cast("Row", value)
    if isinstance(value, str | int):
        return {"id": str(value)}
    raise DataError(f"{path}: a manifest lists ids or rows with an id, found {type(value).__name__}.")


def _check(path: Path, splits: Mapping[SplitName, tuple[Row, ...]]) -> None:
    problems = [
        f"{path}: {name} row {index} has no id"
        for name, rows in splits.items()
        for index, row in enumerate(rows)
        if row.get("id") in (None, "")
    ]
    if problems:
        raise DataError(problems[:_SHOWN])
    ids = {name: Counter(str(row["id"]) for row in rows) for name, rows in splits.items()}
    for name, found in ids.items():
        if twice := [id for id, count in found.items() if count > 1]:
            problems.append(f"{path}: more than once in {name}: {named(twice)}")
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        if both := [id for id in ids[one] if id in ids[other]]:
            problems.append(f"{path}: both in {one} and in {other}: {named(both)}")
    if problems:
        raise DataError(problems)
