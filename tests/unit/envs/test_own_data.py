"""A user's file as it is: columns found or asked for, bad cells named by their row, the same split every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.envs.base import DataSource
from skillopt.envs.own.adapter import Own, OwnOptions
from skillopt.envs.own.columns import labels_of, scorer_for
from skillopt.errors import ConfigError, DataError
from skillopt.evaluation.survey import survey
from skillopt.testing.tickets import make_tickets
from skillopt.types import Attempt


def own(**options: object) -> Own:
    return Own(OwnOptions.model_validate(options))


def csv_file(folder: Path, text: str, encoding: str = "utf-8") -> DataSource:
    (folder / "examples.csv").write_bytes(text.encode(encoding))
    return DataSource(data_path=str(folder / "examples.csv"), split_ratio="2:1:2")


def tickets(n: int = 30, separator: str = ",", end: str = "\n") -> str:
    rows = [f'"{row["ticket"]}"{separator}{row["team"]}' for row in make_tickets(n)]
    return end.join([f"ticket{separator}team", *rows, ""])


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (tickets(), "utf-8"),
        ("\ufeff" + tickets(separator=";", end="\r\n"), "utf-8"),
        (tickets(separator="\t"), "utf-16"),
        ("sep=;\r\n" + tickets(separator=";", end="\r\n"), "utf-8"),
        (tickets().replace("\n", ",,\n") + ",,,\n,,,\n", "utf-8"),
    ],
    ids=["plain", "excel semicolons and mark", "unicode text", "told separator", "blank rows and columns"],
)
def test_tables_as_spreadsheets_write_them(tmp_path: Path, text: str, encoding: str) -> None:
    table = own().table(csv_file(tmp_path, text, encoding))
    assert len(table.rows) == 30
    assert table.fields.input == ("ticket",) and table.fields.answer == "team" and table.scorer == "choice"
    assert table.rows[0]["input"] == make_tickets(30)[0]["ticket"]


def test_a_cell_of_a_megabyte(tmp_path: Path) -> None:
    text = tickets() + f'"{"x" * 1_000_000}",ledger\n'
    table = own().table(csv_file(tmp_path, text))
    assert len(str(table.rows[-1]["input"])) == 1_000_000
    assert "1,000,002" in table.notes[0] and "row-31" in table.notes[0]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, ["the file is empty"]),
        ("ticket,team\n", {}, ["there are no rows"]),
        (tickets(), {"answer": "taem"}, ["no column 'taem'", "Did you mean 'team'?", "Columns: ticket, team"]),
        (tickets(), {"input": "ticket,subject"}, ["no column 'subject'"]),
        (tickets().replace(",ledger", ",", 1), {}, ["row 2", "('team') is empty"]),
        (tickets() + "hello\n", {}, ["line 32: 1 cells under 2 columns"]),
        (tickets() + "hello, you,ledger\n", {}, ["3 cells under 2 columns", "must stand in quotes"]),
        ("a,b,c\n1,2,3\n", {}, ["which column is the input?", "which column is the answer?", "Columns: a, b, c"]),
        (tickets(), {"scorer": "number"}, ["row 2", "is not a number", "and 10 more"]),
        ("q,a\nx,y\nz,w\n", {}, ["2 examples cannot be cut"]),
    ],
    ids=["empty", "header only", "wrong column", "wrong input", "label missing", "short row", "no quotes", "unclear",
         "wrong scorer", "too few"],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, text: str, options: dict[str, str], words: list[str]) -> None:
    source = csv_file(tmp_path, text)
    with pytest.raises(DataError) as caught:
        own(**options).load(source)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "examples.csv" in str(caught.value)


def test_guesses() -> None:
    assert scorer_for([1, "2.5", "$3"]) == "number"
    assert scorer_for([{"a": 1}, '{"a": 2}']) == "json_fields"
    assert scorer_for(["yes", "no"] * 5) == "choice"
    assert scorer_for(["alpha", "beta", "gamma"]) == "exact"
    assert labels_of(["a"] * 9) == (), "one value is no choice"


def test_splits_are_balanced_and_always_the_same(tmp_path: Path) -> None:
    source = csv_file(tmp_path, tickets(60))
    first, again = own().load(source), own().load(source)
    assert first.digests() == again.digests()
    assert (len(first.train), len(first.val), len(first.test)) == (24, 12, 24)
    for split, share in ((first.train, 0.4), (first.val, 0.2), (first.test, 0.4)):
        ledgers = sum(item.data["answer"] == "ledger" for item in split)
        assert abs(ledgers - 24 * share) <= 1
    other = own().load(DataSource(data_path=source.data_path, split_ratio="2:1:2", split_seed=7))
    assert other.digests() != first.digests()


def test_repeated_rows_do_not_cross_the_splits(tmp_path: Path) -> None:
    source = csv_file(tmp_path, tickets(30) + tickets(10).partition("\n")[2])
    table = own().table(source)
    assert len(table.rows) == 30 and "10 rows repeat an earlier one" in table.notes[0]
    own().load(source)


def test_the_survey_says_what_was_guessed_and_what_can_be_seen(tmp_path: Path) -> None:
    said = "\n".join(survey(own(), csv_file(tmp_path, tickets(30) + "What now?,attic\n"), scorer_given=False))
    assert "31 examples; input 'ticket' (guessed), answer 'team' (guessed); scorer choice (guessed)" in said
    assert "no test item has the label 'attic'" in said or "no validation item has the label 'attic'" in said
    assert "validation item is worth" in said and "may pass unnoticed" in said


def test_json_rows_keep_their_values_and_several_columns_are_laid_out(tmp_path: Path) -> None:
    rows = [
        {"id": f"r{n}", "question": f"How old in {n}?", "context": {"born": n}, "answers": [n, str(n)]}
        for n in range(9)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    bench = own(input="question,context")
    item = bench.load(DataSource(data_path=str(tmp_path / "a.jsonl"), split_ratio="1:1:1")).train[0]
    assert bench.task(item, "S").user == f"question:\n{item.data['input']['question']}\n\ncontext:\n" + json.dumps(
        item.data["input"]["context"]
    )
    assert bench.score(item, Attempt(bench.gold(item), ())).hard == 1


def test_a_template_shows_columns_and_never_the_answer(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("Ticket: {ticket}{ {keep} }\n{input}")
    source = csv_file(tmp_path, tickets(30))
    bench = own(template=str(tmp_path / "t.md"))
    item = bench.load(source).train[0]
    text = item.data["input"]
    assert bench.task(item, "").user == f"Ticket: {text}{{ {{keep}} }}\n{text}"
    (tmp_path / "t.md").write_text("{input} {team}")
    with pytest.raises(DataError, match="shows the answer"):
        own(template=str(tmp_path / "t.md"), answer="team").load(source)
    with pytest.raises(ConfigError, match="never uses a column"):
        (tmp_path / "t.md").write_text("hello")
        own(template=str(tmp_path / "t.md"))


def test_a_changed_scorer_or_rubric_names_other_work(tmp_path: Path) -> None:
    source = csv_file(tmp_path, tickets(30))
    digests = [
        own(**options).load(source).digests()["test"]
        for options in ({}, {"scorer": "exact"}, {"scorer": "judge", "rubric": "a"}, {"scorer": "judge", "rubric": "b"})
    ]
    assert len(set(digests)) == 4


def test_a_judge_needs_a_rubric() -> None:
    with pytest.raises(ConfigError, match="rubric"):
        own(scorer="judge")
