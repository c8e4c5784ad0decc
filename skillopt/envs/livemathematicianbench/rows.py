"""Where the rows come from: any data file, or a folder of the published monthly files at whatever depth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.sources import read_rows
from skillopt.datasets.splits import NAMES
from skillopt.types import JSON

Row = dict[str, JSON]

_MONTHLY = "qa_*_final.json"
_MONTH = re.compile(r"qa_(\d+)_final")


class MonthlyLoader(SplitDataLoader):
    """A folder with monthly files is all of them in order of their paths; any other folder is read as usual."""

    def load_raw_items(self, data_path: str) -> list[Row]:
        folder = Path(data_path)
        already_split = any((folder / name).is_dir() for name in NAMES)
        return ([] if already_split else _monthly(folder)) or super().load_raw_items(data_path)

    def load_split_items(self, split_path: str) -> list[Row]:
        return _monthly(Path(split_path)) or super().load_split_items(split_path)


def identified(row: Mapping[str, JSON]) -> Row:
    """The row with an id: its own, or its month and number."""
    if row.get("id") or not row.get("month") or row.get("no") is None:
        return dict(row)
    return {**row, "id": f"{row['month']}:{row['no']}"}


def _monthly(folder: Path) -> list[Row]:
    files = sorted(folder.rglob(_MONTHLY)) if folder.is_dir() else []
    return [row for file in files for row in _of_month(file, folder)]


def _of_month(file: Path, folder: Path) -> Iterator[Row]:
    named = _MONTH.match(file.name)
    month = {"month": named[1]} if named else {}
    for row in read_rows(file):
        yield {**month, **row, "source_path": file.relative_to(folder).as_posix()}
