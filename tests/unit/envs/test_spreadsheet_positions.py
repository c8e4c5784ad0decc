"""Where an answer lies, in the spellings that people and data sets use."""

from __future__ import annotations

import pytest

from skillopt.envs.spreadsheetbench.positions import LAST_COLUMN, LAST_ROW, Area, areas, column_name, sheet_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("E1", [("", 5, 1, 5, 1)]),
        ("A1:N53", [("", 1, 1, 14, 53)]),
        ("$b$2:a1", [("", 1, 1, 2, 2)]),
        ("'Sea Freight Rates'!H2:H191", [("Sea Freight Rates", 8, 2, 8, 191)]),
        ("Sheet1!A1, Sheet2!B2", [("Sheet1", 1, 1, 1, 1), ("Sheet2", 2, 2, 2, 2)]),
        ("'Sheet1'!A1:A4,C1:C4", [("Sheet1", 1, 1, 1, 4), ("Sheet1", 3, 1, 3, 4)]),
        ("A1:B2,Sheet2!C3", [("", 1, 1, 2, 2), ("Sheet2", 3, 3, 3, 3)]),
        ("'Bills, open'!A1,'it''s'!B1", [("Bills, open", 1, 1, 1, 1), ("it's", 2, 1, 2, 1)]),
        ("'Q1, Q2'!A1", [("Q1, Q2", 1, 1, 1, 1)]),
        ("Updated Data'!B5:B9", [("Updated Data", 2, 5, 2, 9)]),
        ("'Sheet1!'A2:B19,'Sheet3!'A2: D11'", [("Sheet1", 1, 2, 2, 19), ("Sheet3", 1, 2, 4, 11)]),
        ("'51998'!L24", [("51998", 12, 24, 12, 24)]),
        ("'ورقة1'!H2:L4", [("ورقة1", 8, 2, 12, 4)]),
        ("Data!A:C", [("Data", 1, 1, 3, LAST_ROW)]),
        ("3:7", [("", 1, 3, LAST_COLUMN, 7)]),
    ],
)  # fmt: skip
def test_positions_are_read(text: str, wanted: list[tuple[str, int, int, int, int]]) -> None:
    assert areas(text) == tuple(Area(*row) for row in wanted)


@pytest.mark.parametrize("text", ["", "  ", "Sheet1!", "all of it", "A0", "A1:B", "ZZZ1", "A1:A9999999", "A1;B2"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="answer_position"):
        areas(text)


@pytest.mark.parametrize(
    ("position", "answer_sheet", "wanted"),
    [
        ("A1", "", "One"),
        ("A1", "Two", "Two"),
        ("A1", "two ", "Two"),
        ("A1", "Two,One", "Two"),
        ("A1", "Bills, open", "Bills, open"),
        ("A1", "Nine", None),
        ("'TWO'!A1", "One", "Two"),
        ("Nine!A1", "One", None),
    ],
)
def test_sheets_are_found_as_excel_finds_them(position: str, answer_sheet: str, wanted: str | None) -> None:
    (area,) = areas(position)
    assert sheet_of(area, answer_sheet, ["One", "Two", "Bills, open"]) == wanted


def test_column_names() -> None:
    assert [column_name(n) for n in (1, 26, 27, 702, 703, 16384)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
