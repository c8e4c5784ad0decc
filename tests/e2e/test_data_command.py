"""`skillopt data` as a person runs it: prepare, check, exit codes; and the real samples where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.cli import cli, run

SAMPLES = Path(__file__).parents[3] / "shared" / "data"


def call(*arguments: object) -> int:
    return run(cli, "skillopt", ["data", *map(str, arguments)])


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text(json.dumps(rows))
    return path


def clues(count: int) -> list[dict[str, object]]:
    return [
        {
            "key": f"k{i}",
            "question": f"clue number {i} of them all",
            "context": f"[DOC] text {i}",
            "answers": [f"red{i}"],
        }
        for i in range(count)
    ]


def test_prepare_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = write(tmp_path / "rows.json", clues(40)), tmp_path / "out"
    assert call("prepare", "searchqa", source, "--out", out, "--seed", 1) == 0
    assert "8 train, 4 val, 28 test items" in capsys.readouterr().out
    assert call("check", out) == 0
    shown = capsys.readouterr().out
    assert "searchqa" in shown
    assert "errors: 0" in shown
    assert call("prepare", "searchqa", source, "--out", out) == 2
    assert "--force" in capsys.readouterr().err


def test_check_finds_errors_for_people_and_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = write(tmp_path / "rows.json", clues(40)), tmp_path / "out"
    call("prepare", "searchqa", source, "--out", out)
    first = json.loads((out / "train" / "items.json").read_text())[0]
    kept = json.loads((out / "test" / "items.json").read_text())
    broken = {"id": "broken", "question": "q", "context": "c", "answers": []}
    write(out / "test" / "items.json", [*kept, {**first, "id": "copy"}, broken])
    capsys.readouterr()
    assert call("check", out, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    errors = {finding["check"]: finding["where"] for finding in told["findings"] if finding["severity"] == "error"}
    assert (told["ok"], told["benchmark"]) == (False, "searchqa")
    assert errors == {"copy_across_splits": [f"train:{first['id']} ~ test:copy"], "unusable_row": ["test:broken"]}
    assert call("check", out) == 1
    assert "test:copy" in capsys.readouterr().out


def test_check_of_data_without_a_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    for name in ("train", "val", "test"):
        (tmp_path / name).mkdir()
        rows = [{"id": f"{name}[{i}]", "ticket": f"{name} ticket {i} [bold]", "team": "abc"[i % 3]} for i in range(30)]
        write(tmp_path / name / "rows.json", rows)
    assert call("check", tmp_path) == 0
    shown = capsys.readouterr().out
    assert "question ticket, answer team" in shown
    assert "always answering 'a' scores 33%" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "nowhere"), "is not a directory"),
        (("prepare", "chess", "x", "--out", "y"), "Known: searchqa"),
        (("prepare", "searchqa", "nowhere.json", "--out", "y"), "does not exist"),
        (("prepare", "searchqa", "--out", "y"), "By hand:"),
        (("prepare", "searchqa", "x", "--out", "y", "--split-ratio", "1:2"), "train:val:test"),
    ],
)
def test_unusable_input_ends_with_two(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("benchmark", "source", "counts", "more"),
    [
        ("searchqa", "searchqa/items.json", [1, 1, 2], ("--split-ratio", "1:1:2")),
        ("docvqa", "docvqa", [8, 4, 28], ()),
        ("livemathematicianbench", "livemathematicianbench", [35, 18, 124], ()),
        ("officeqa", "officeqa", [49, 25, 172], ()),
        ("spreadsheetbench", "spreadsheetbench/dataset_50.json", [10, 5, 35], ()),
        ("alfworld", "alfworld/all_191_games.tar.xz", [39, 18, 134], ()),
    ],
)
def test_real_samples(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    benchmark: str,
    source: str,
    counts: list[int],
    more: tuple[str, ...],
) -> None:
    if not SAMPLES.is_dir():
        pytest.skip("the real samples (../shared/data) are not here")
    assert call("prepare", benchmark, SAMPLES / source, "--out", tmp_path / "out", *more) == 0
    assert "train" in capsys.readouterr().out
    call("check", tmp_path / "out", "--json")
    told = json.loads(capsys.readouterr().out)
    assert list(told["counts"].values()) == counts
    checks = {finding["check"] for finding in told["findings"]}
    assert not checks & {"id_in_two_splits", "duplicate_id", "copy_across_splits", "absent_file"}
    if benchmark == "livemathematicianbench":
        assert {"guessable_option", "standing_option"} <= checks
