"""SearchQA: the hub's single-format edition, or the shared task's own lines with several questions to a context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from skillopt.datasets.prepare.material import Material
from skillopt.datasets.prepare.reading import lacking, text, texts
from skillopt.datasets.prepare.recipe import Entry, HubPlace, Recipe
from skillopt.datasets.sources import Row


def _entries(material: Material) -> Iterator[Entry]:
    for row, _ in material.rows():
        for one in _questions(row):
            yield _entry(one)


def _questions(row: Row) -> Iterator[Row]:
    if "header" in row and len(row) == 1:
        return
    if isinstance(row.get("qas"), list):
        for one in cast("list[Row]", row["qas"]):
            yield {**one, "key": one.get("qid"), "context": row.get("context")}
    else:
        yield row


def _entry(row: Row) -> Entry:
    id = text(row, "key", "id")
    # Contexts keep every sign: they are cut at their passage marks later.
    context = row.get("context")
    made: Row = {
        "id": id,
        "question": text(row, "question"),
        "context": context if isinstance(context, str) else "",
        "answers": texts(row.get("answers")),
    }
    return Entry(id, made, lacks=lacking(made, *made))


SEARCHQA = Recipe(
    "searchqa",
    _entries,
    licence="SearchQA in the MRQA 2019 edition; no licence is stated where it is published.",
    by_hand="download the parquet files of huggingface.co/datasets/lucadiliello/searchqa, give their folder as SOURCE.",
    hub=HubPlace("lucadiliello/searchqa"),
)
