"""A row of DocVQA data, whatever it was exported from, in the words the benchmark uses.

Tables come first: the public data set is handed around as CSV, often with a JSON manifest without answers beside it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.sources import data_files, read_rows
from skillopt.envs.docvqa.golds import listed
from skillopt.types import JSON

logger = logging.getLogger(__name__)

Row = dict[str, JSON]

KIND = "docvqa"
_MARKER = "document_path:"
_KEPT = (
    "subtask", "questionId", "docId", "ucsf_document_id", "ucsf_document_page_no", "source_split", "reference_text",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What a row asks, the names of the images it asks about, and the value that holds the answers."""

    question: str
    images: tuple[str, ...]
    answers: JSON
    kind: str
    notes: Mapping[str, str]


class TablesFirst(SplitDataLoader):
    """Takes the first CSV file of a split directory, and any other data file only where there is none."""

    def load_split_items(self, split_path: str) -> list[Row]:
        files = data_files(Path(split_path))
        tables = [file for file in files if file.suffix.lower() == ".csv"]
        if not tables:
            return super().load_split_items(split_path)
        if len(files) > 1:
            others = ", ".join(file.name for file in files if file != tables[0])
            logger.warning("%s: reading %s, ignoring %s", split_path, tables[0].name, others)
        return read_rows(tables[0])


def named(row: Row) -> Row:
    """The row under its id: the question's number in the data set, where it has one."""
    id = _first(row, "questionId", "id")
    return row if id is None else {**row, "id": id}


def asked(row: Mapping[str, JSON]) -> Asked:
    """Take a row apart."""
    question, _, marked = str(row["question"]).partition(_MARKER)
    if not question.strip():
        raise ValueError("the question is empty")
    kind = _first(row, "task_type", "topic", "category") or KIND
    return Asked(
        question=question.strip(),
        images=_names(_first(row, "image_paths", "image_path") or marked.strip()),
        answers=_first(row, "answers", "answer", "ground_truth"),
        kind="|".join(map(str, cast("list[JSON]", kind))) if isinstance(kind, list) else str(kind),
        # As texts, so that a row is the same item from a table and from JSON.
        notes={name: str(row[name]) for name in _KEPT if _first(row, name) is not None},
    )


def _names(value: JSON) -> tuple[str, ...]:
    read = listed(value.strip()) if isinstance(value, str) else value
    several = cast("list[JSON]", read) if isinstance(read, list) else [read]
    return tuple(name.strip() for name in several if isinstance(name, str) and name.strip())


def _first(row: Mapping[str, JSON], *names: str) -> JSON:
    """The first of the fields that holds anything."""
    values = (row.get(name) for name in names)
    return next((v for v in values if v is not None and v != [] and not (isinstance(v, str) and not v.strip())), None)
