"""Reading rows: what is accepted, and how a broken file is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.datasets.sources import data_files, read_rows
from skillopt.errors import DataError


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.json", '[{"id": 1}]', [{"id": 1}]),
        ("a.json", '{"data": [{"id": 1}], "version": 2}', [{"id": 1}]),
        ("a.json", '{"x": {"q": 1}, "y": {"id": "z"}}', [{"id": "x", "q": 1}, {"id": "z"}]),
        ("a.jsonl", '\ufeff{"id": 1}\r\n\n{"q": "a\u2028b"}\n', [{"id": 1}, {"q": "a\u2028b"}]),
        ("a.csv", '\ufeffid, q\n1,"two\nlines"\n\n2,é\n', [{"id": "1", "q": "two\nlines"}, {"id": "2", "q": "é"}]),
    ],
)
def test_rows(tmp_path: Path, name: str, text: str, rows: list[dict[str, object]]) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert read_rows(tmp_path / name) == rows


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '[{"id": 1},\n{"id" 2}]', "a.json, line 2"),
        (
            "a.json",
            '{"id": 1}\n{"id": 2}',
            "line 2: Extra data. If every line is an object of its own, name the file .jsonl",
        ),
        ("a.json", "[1]", "item 0: expected an object, found int"),
        ("a.json", '{"data": [null]}', "data item 0: expected an object, found NoneType"),
        ("a.json", '"x"', "expected an array"),
        ("a.jsonl", '{"id": 1}\n\n{"id"', "a.jsonl, line 3"),
        ("a.jsonl", "[1]", "line 1: expected an object, found list"),
        ("a.csv", "", "name the columns"),
        ("a.csv", "id,id\n1,2\n", "a name of its own"),
        ("a.csv", "id,q\n1,2\n3\n", "line 3: 1 cells under 2 columns"),
        ("a.csv", 'id,q\n1,"x', "line 2"),
        ("a.txt", "x", "ends in .json, .jsonl, .csv"),
    ],
)
def test_problems_name_file_and_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        read_rows(tmp_path / name)
    assert message in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_missing_and_undecodable_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8"):
        read_rows(tmp_path / "a.json")
    with pytest.raises(DataError, match="does not exist"):
        read_rows(tmp_path / "b.json")


def test_json_is_preferred_and_hidden_files_are_ignored(tmp_path: Path) -> None:
    for name in ("b.json", "a.csv", "c.json", ".d.json", "a.jsonl", "e.txt"):
        (tmp_path / name).write_text("")
    assert [p.name for p in data_files(tmp_path)] == ["b.json", "c.json", "a.jsonl", "a.csv"]
