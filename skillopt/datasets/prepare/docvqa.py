"""DocVQA: a CSV of the benchmark's own form, the challenge's JSON, or the hub's rows with the page inside.

Pages go to `images/` beside the splits; a page that several questions ask about is kept once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import cast

from skillopt.datasets.prepare.material import Material, inside
from skillopt.datasets.prepare.reading import lacking, text, texts
from skillopt.datasets.prepare.recipe import Copy, Entry, HubPlace, Recipe
from skillopt.datasets.sources import Row
from skillopt.types import JSON

_MARK = "document_path:"
_FOLDERS = ("", "images", "documents", "docvqa_images")
_KEPT = ("questionId", "docId", "ucsf_document_id", "ucsf_document_page_no")


def _entries(material: Material) -> Iterator[Entry]:
    for row, near in material.rows():
        yield _entry(row, near, material)


def _entry(row: Row, near: Path, material: Material) -> Entry:
    question, _, path = text(row, "question").partition(_MARK)
    answers = texts(row.get("answers") or row.get("answer") or row.get("ground_truth"))
    kinds = texts(row.get("topic") or row.get("category") or row.get("question_types") or row.get("task_type"))
    kind = "|".join(kinds) or "docvqa"
    id = text(row, "questionId", "id")
    made: Row = {
        "id": id,
        "question": question.strip(),
        "answer": answers[0] if answers else "",
        "answers": answers,
        "task_type": kind,
        "subtask": kind,
        **{name: text(row, name) for name in _KEPT},
        "source_split": text(row, "source_split", "data_split"),
    }
    lacks = lacking(made, "id", "question", "answers")
    page = _page(row, path.strip() or text(row, "image_path"), near, material)
    if isinstance(page, str):
        return Entry(id, made, lacks=lacks or page)
    copy = Copy(page, f"images/{page.name}")
    made |= {"image_path": copy.place, "image_paths": [copy.place]}
    return Entry(id, made, (copy,), lacks=lacks)


def _page(row: Row, named: str, near: Path, material: Material) -> Path | str:
    """The page's file, or in words why there is none."""
    image = row.get("image")
    if isinstance(image, dict) and isinstance(held := cast("Row", image).get("bytes"), bytes):
        return _kept(held, material.scratch)
    name = named or (image if isinstance(image, str) else "")
    if not name:
        return "no image_path"
    bare = PurePosixPath(name.replace("\\", "/")).name
    places = (name, *(f"{folder}/{bare}".lstrip("/") for folder in _FOLDERS))
    for folder in material.folders(near):
        for place in places:
            if (found := inside(folder, place)) and found.is_file():
                return found
    return f"the page {name} is not there"


def _kept(page: bytes, scratch: Path) -> Path:
    """Bytes as a file, named by their content: one page, one file."""
    suffix = ".jpg" if page.startswith(b"\xff\xd8") else ".png"
    path = scratch / "pages" / f"{hashlib.sha256(page).hexdigest()[:24]}{suffix}"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(page)
    return path


def _keys(row: Mapping[str, JSON]) -> tuple[str, ...]:
    return (str(row.get("questionId") or row["id"]), str(row["id"]))


DOCVQA = Recipe(
    "docvqa",
    _entries,
    licence="Single-Page DocVQA under the challenge's terms; pages from the UCSF Industry Documents Library.",
    by_hand="download val_v1.0.json and its images from the DocVQA challenge, or the validation parquet files of "
    "huggingface.co/datasets/lmms-lab/DocVQA, and give their folder as SOURCE.",
    hub=HubPlace("lmms-lab/DocVQA", "DocVQA", "validation"),
    keys=_keys,
)
