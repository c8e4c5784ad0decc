"""Rows as the benchmark is distributed (CSV, or JSON made of it) become rows with one set of names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.sources import data_files, read_rows
from skillopt.types import JSON

KINDS = ("easy", "hard", "other")
"""`other` is a question whose difficulty nobody stated."""


class Loader(SplitDataLoader):
    """A split folder with both a CSV and a JSON file is read from the CSV, the form the data is published in."""

    def load_split_items(self, split_path: str) -> list[dict[str, JSON]]:
        tables = [file for file in data_files(Path(split_path)) if file.suffix.lower() == ".csv"]
        rows = read_rows(tables[0]) if tables else super().load_split_items(split_path)
        return [named(row) for row in rows]

    def load_raw_items(self, data_path: str) -> list[dict[str, JSON]]:
        return [named(row) for row in super().load_raw_items(data_path)]


def named(row: Mapping[str, JSON]) -> dict[str, JSON]:
    """The row under our names; a row that has them already stays as it is."""
    truth = _text(row.get("ground_truth")) or _text(row.get("answer"))
    answers = [text for text in map(_text, _values(row.get("answers"))) if text]
    if not truth and answers:
        truth = answers[0]
    kind = str(row.get("task_type") or row.get("category") or row.get("difficulty") or "").strip().lower()
    return {
        "id": _text(row.get("id")) or _text(row.get("uid")),
        "question": _text(row.get("question")),
        "ground_truth": truth,
        "answers": answers or ([truth] if truth else []),
        "task_type": kind if kind in KINDS else KINDS[-1],
        "source_files": listed(row.get("source_files")),
        "source_docs": listed(row.get("source_docs")),
    }


def listed(value: JSON) -> list[str]:
    """Names from a list, a JSON list, lines, or commas; a text that ends in .txt and has no comma is one name."""
    if isinstance(value, str):
        value = _json_list(value) or (value.splitlines() if "\n" in value else _by_comma(value))
    return [text for text in map(_text, _values(value)) if text]


def _json_list(text: str) -> list[JSON] | None:
    if not text.strip().startswith("["):
        return None
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return None
    return cast("list[JSON]", value) if isinstance(value, list) else None


def _by_comma(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    # A single file name may hold a comma; a list of names ends every part in the suffix.
    whole = text.strip().lower().endswith(".txt") and not all(part.lower().endswith(".txt") for part in parts)
    return [text] if whole else parts


def _values(value: JSON) -> list[JSON]:
    if value is None:
        return []
    return list(cast("list[JSON]", value)) if isinstance(value, list | tuple) else [value]


def _text(value: JSON) -> str:
    return "" if value is None else str(value).strip()
