"""OfficeQA: the question table becomes rows; the bulletins stay where they are, since they are large and shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt.datasets.prepare.material import Material
from skillopt.datasets.prepare.reading import lacking, text, texts
from skillopt.datasets.prepare.recipe import Entry, HubPlace, Recipe
from skillopt.datasets.sources import Row
from skillopt.types import JSON

_TABLE = "officeqa_full.csv"
_BULLETIN = "treasury_bulletin_*"


def _entries(material: Material) -> Iterator[Entry]:
    there, covered, count = _bulletins(material), 0, 0
    for row, _ in material.rows(prefer=_TABLE):
        entry = _entry(row)
        count += 1
        covered += bool(there) and all(Path(name).stem in there for name in entry.row["source_files"])
        yield entry
    if there:
        material.notes.append(
            f"{len(there)} bulletins were found and left where they are; {covered} of {count} questions have all of "
            "theirs. Set env.data_dirs to their folder"
        )


def _bulletins(material: Material) -> frozenset[str]:
    folders = {source.folder for source in material.sources if not source.unpacked}
    return frozenset(path.stem for folder in folders for path in folder.rglob(_BULLETIN) if path.is_file())


def _entry(row: Row) -> Entry:
    id, answer = text(row, "uid", "id"), text(row, "answer", "ground_truth")
    kind = text(row, "category", "difficulty", "task_type")
    made: Row = {
        "id": id,
        "uid": id,
        "question": text(row, "question"),
        "ground_truth": answer,
        "answers": [answer] if answer else [],
        "category": kind,
        "task_type": kind or "officeqa",
        "source_files": _names(row.get("source_files")),
        "source_docs": _names(row.get("source_docs")),
    }
    return Entry(id, made, lacks=lacking(made, "id", "question", "ground_truth"))


def _names(value: JSON) -> list[str]:
    """A list, the text of a list, lines, or names between commas (a single name may hold one before its .txt)."""
    found: list[str] = []
    for one in texts(value):
        for line in one.splitlines():
            parts = line.split(",") if line.count(".txt") != 1 else [line]
            found.extend(part.strip() for part in parts if part.strip())
    return found


def _keys(row: Mapping[str, JSON]) -> tuple[str, ...]:
    return (str(row["id"]), str(row.get("uid") or row["id"]))


OFFICEQA = Recipe(
    "officeqa",
    _entries,
    licence="OfficeQA questions CC BY-SA 4.0 (databricks/officeqa); US Treasury Bulletins are in the public domain.",
    by_hand="ask for access to huggingface.co/datasets/databricks/officeqa, download officeqa_full.csv and give it as "
    "SOURCE.",
    hub=HubPlace("databricks/officeqa", patterns=("officeqa_full.csv",)),
    keys=_keys,
)
