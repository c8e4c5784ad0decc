"""A row of SpreadsheetBench data as an item, and an item as what is run and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from skillopt.envs.spreadsheetbench.cases import Case, cases_in
from skillopt.envs.spreadsheetbench.positions import areas
from skillopt.envs.spreadsheetbench.workshop import Wanted
from skillopt.types import JSON, Item

KINDS = ("cell_level", "sheet_level", "other")
_TEXTS = ("instruction", "instruction_type", "answer_position", "answer_sheet", "data_position")


def item_of(row: Mapping[str, JSON], split: str, root: Path) -> Item:
    """Make an item, or say everything that is wrong with the row."""
    problems: list[str] = []
    cases: tuple[Case, ...] = ()
    said = str(row.get("spreadsheet_path") or f"spreadsheet/{row['id']}")
    try:
        areas(str(row["answer_position"]))
    except ValueError as error:
        problems.append(str(error))
    try:
        if ".." in PurePosixPath(said).parts:
            raise ValueError(f"spreadsheet_path {said!r} leads out of env.data_root")
        cases = cases_in(root / said)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise ValueError("; ".join(problems))
    # As texts, so that a row is the same item from any format.
    content: dict[str, JSON] = {name: str(row.get(name) or "") for name in _TEXTS}
    content["cases"] = [[case.number, case.input_sha, case.answer_sha] for case in cases]
    item = Item.make(str(row["id"]), split, kind_of(content["instruction_type"]), content)
    # The digest is made before the paths are added: it names what the workbooks hold, not where they lie.
    return replace(item, data=content | {"paths": [[str(case.input), str(case.answer)] for case in cases]})


def kind_of(instruction_type: str) -> str:
    word = instruction_type.strip().lower()
    return next((kind for kind in KINDS if word.startswith(kind.split("_")[0])), "other")


def wanted_of(item: Item) -> Wanted:
    pairs = zip(item.data["cases"], item.data["paths"], strict=True)
    cases = tuple(Case(row[0], Path(paths[0]), Path(paths[1]), row[1], row[2]) for row, paths in pairs)
    return Wanted(cases, str(item.data["answer_position"]), str(item.data["answer_sheet"]))
