"""Rows of any published form: what `sources` reads, parquet, and lists that were written down as text."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from skillopt.datasets.sources import Row, read_rows
from skillopt.errors import DataError
from skillopt.types import JSON

TABLES = (".json", ".jsonl", ".csv", ".tsv", ".parquet")
INSTALL = 'pip install "skillopt[data]"'


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of one file, in its order."""
    if path.suffix.lower() == ".parquet":
        yield from _parquet(path)
    else:
        yield from read_rows(path)


def texts(value: JSON) -> list[str]:
    """A list of texts, from a list, from the text of one (`['a', 'b']`), or from a single value."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [text for one in cast("list[JSON]", value) for text in texts(one)]
    text = str(value).strip()
    found = _listed(text) if text.startswith("[") and text.endswith("]") else None
    if found is not None and all(isinstance(one, str) for one in found):
        return texts(found)
    return [text] if text else []


def _listed(text: str) -> list[JSON] | None:
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return cast("list[JSON]", value) if isinstance(value, list) else None
    return None


def text(row: Row, *names: str) -> str:
    """The first of these fields that is there, as text."""
    return next((str(row[name]).strip() for name in names if row.get(name) not in (None, "")), "")


def lacking(row: Row, *names: str) -> str:
    """Which of these fields are empty, in words; "" when none is."""
    absent = [name for name in names if not row.get(name)]
    return f"no {' and no '.join(absent)}" if absent else ""


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise DataError(f"{path.name}: parquet files need {INSTALL}") from None
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from cast("list[Row]", batch.to_pylist())
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file: {error}") from error
