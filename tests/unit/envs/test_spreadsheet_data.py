"""Rows into items: three ways to name workbooks, all problems at once, content and not place in the digest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import openpyxl
import pytest

from skillopt.envs.base import DataSource
from skillopt.envs.spreadsheetbench.adapter import SpreadsheetBench
from skillopt.envs.spreadsheetbench.cells import Place, read
from skillopt.envs.spreadsheetbench.golds import Golds
from skillopt.envs.spreadsheetbench.positions import areas
from skillopt.envs.spreadsheetbench.rows import wanted_of
from skillopt.errors import DataError
from skillopt.testing.mini_spreadsheet import write_spreadsheets
from skillopt.types import JSON


@pytest.fixture
def mini(tmp_path: Path) -> Path:
    return write_spreadsheets(tmp_path / "data", (2, 1, 1))[0]


def benchmark(root: Path) -> SpreadsheetBench:
    found = SpreadsheetBench.configured({"data_root": str(root)})
    assert isinstance(found, SpreadsheetBench)
    return found


def rows_of(mini: Path, split: str = "train") -> list[dict[str, JSON]]:
    return json.loads((mini / split / "items.json").read_text())


def test_the_miniature_loads(mini: Path) -> None:
    splits = benchmark(mini).load(DataSource("split_dir", str(mini)))
    assert [len(splits.of(name)) for name in ("train", "val", "test")] == [2, 1, 1]
    assert {item.kind for item in splits.train} <= {"cell_level", "sheet_level"}


def test_a_moved_data_set_is_the_same_data(mini: Path, tmp_path: Path) -> None:
    row = rows_of(mini)[0]
    before = benchmark(mini).item(row, "train")
    moved = shutil.copytree(mini, tmp_path / "elsewhere")
    assert benchmark(moved).item(row, "train").digest == before.digest
    book = next((moved / row["spreadsheet_path"]).glob("1_*_answer.xlsx"))
    book.write_bytes(book.read_bytes() + b"\0")
    assert benchmark(moved).item(row, "train").digest != before.digest


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (("initial.xlsx", "golden.xlsx"), ["1"]),
        (("1_x_init.xlsx", "1_x_golden.xlsx", "2_x_init.xlsx", "2_x_golden.xlsx"), ["1", "2"]),
        (("2_x_input.xlsx", "2_x_answer.xlsx", "10_x_input.xlsx", "10_x_answer.xlsx", "initial.xlsx"), ["2", "10"]),
    ],
)
def test_workbooks_are_found_by_their_names(mini: Path, names: tuple[str, ...], numbers: list[str]) -> None:
    row = rows_of(mini)[0]
    folder = mini / "spreadsheet" / "named"
    folder.mkdir()
    source = next((mini / row["spreadsheet_path"]).iterdir())
    for name in names:
        shutil.copy(source, folder / name)
    item = benchmark(mini).item({**row, "spreadsheet_path": "spreadsheet/named"}, "train")
    assert [case.number for case in wanted_of(item).cases] == numbers


def test_every_problem_is_told_at_once(mini: Path) -> None:
    first, second = rows_of(mini)
    for book in (mini / second["spreadsheet_path"]).glob("2_*_answer.xlsx"):
        book.unlink()
    first |= {"answer_position": "here and there", "spreadsheet_path": "spreadsheet/none"}
    (mini / "train" / "items.json").write_text(json.dumps([first, second]))
    empty = rows_of(mini, "val")
    empty[0]["answer_position"] = "  "
    (mini / "val" / "items.json").write_text(json.dumps(empty))
    escape = rows_of(mini, "test")
    escape[0]["spreadsheet_path"] = "../../etc"
    (mini / "test" / "items.json").write_text(json.dumps(escape))
    with pytest.raises(DataError) as caught:
        benchmark(mini).load(DataSource("split_dir", str(mini)))
    told = "\n".join(caught.value.problems)
    for words in ("'here and there' is no range", "none does not exist", "case 2", "no answer workbook",
                  "'answer_position' is empty", "leads out of env.data_root"):  # fmt: skip
        assert words in told


def test_a_file_that_is_no_workbook_is_refused(mini: Path) -> None:
    row = rows_of(mini)[0]
    next((mini / row["spreadsheet_path"]).glob("1_*_input.xlsx")).write_text(
        "version https://git-lfs.github.com/spec/v1"
    )
    with pytest.raises(ValueError, match="is no xlsx file"):
        benchmark(mini).item(row, "train")


def test_the_task_shows_the_first_input_and_no_answer(mini: Path) -> None:
    item = benchmark(mini).item(next(r for r in rows_of(mini) if "late" in r["instruction"]), "train")
    task = benchmark(mini).task(item, "Be careful.")
    assert "Sheet 'Bills, open'" in task.user and "A1=Customer | B1=Days open" in task.user
    assert "'Bills, open'!C2" in task.user
    assert "C2=" not in task.user and "golden" not in task.user and str(mini) not in task.user
    assert task.system.endswith("Be careful.")


def test_the_untouched_input_is_measured(mini: Path) -> None:
    chosen = benchmark(mini)
    items = chosen.load(DataSource("split_dir", str(mini))).train
    assert chosen.null_baseline(items).passed_cases == 0
    for case in wanted_of(items[0]).cases:
        shutil.copy(case.answer, case.input)
    again = chosen.load(DataSource("split_dir", str(mini))).train
    base = benchmark(mini).null_baseline(again)
    assert (base.tasks, base.passed_tasks, base.cases, base.passed_cases) == (2, 1, 4, 2)
    assert "2 of 4 cases" in str(base)


def test_cells_that_nobody_computed_are_told_apart_from_empty_results(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page["A1"], page["A2"], page["A3"] = 1, "=A1+1", '=IF(A1=1,"",1)'
    book.save(tmp_path / "b.xlsx")
    cells = read(str(tmp_path / "b.xlsx"), areas("Sheet!A:A"))
    assert cells.values == {Place("Sheet", 1, 1): 1}
    assert cells.formulas == {Place("Sheet", 2, 1): "=A1+1", Place("Sheet", 3, 1): '=IF(A1=1,"",1)'}


def test_an_answer_without_the_sheet_is_the_fault_of_the_data(mini: Path) -> None:
    row = {**rows_of(mini)[0], "answer_position": "Nowhere!A1"}
    wanted = wanted_of(benchmark(mini).item(row, "train"))
    assert "has no sheet 'Nowhere'" in Golds().of(wanted.cases[0], wanted.position, "").problem
