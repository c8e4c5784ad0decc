"""Preparing published data: the rows each benchmark reads, splits by ratio or manifest, and nothing half done."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from skillopt.datasets.prepare.run import RECIPES, Order, prepare
from skillopt.errors import DataError


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def clues(count: int) -> list[dict[str, object]]:
    return [
        {"key": f"k{i}", "question": f"clue {i}", "context": f" [DOC] {i}", "answers": [f"a{i}"]} for i in range(count)
    ]


def rows(out: Path) -> dict[str, list[dict[str, object]]]:
    return {name: json.loads((out / name / "items.json").read_text()) for name in ("train", "val", "test")}


def every(out: Path) -> dict[object, dict[str, object]]:
    return {row["id"]: row for found in rows(out).values() for row in found}


def tree(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_all_six_have_a_recipe() -> None:
    assert set(RECIPES) == {
        "searchqa", "docvqa", "livemathematicianbench", "officeqa", "spreadsheetbench", "alfworld",
    }  # fmt: skip


def test_the_same_input_gives_the_same_bytes_and_names_no_machine(tmp_path: Path) -> None:
    source = write(tmp_path / "in" / "searchqa.json", clues(20))
    for name in ("one", "two"):
        done = prepare(Order("searchqa", (str(source),), tmp_path / name))
    assert done.counts == {"train": 4, "val": 2, "test": 14}
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    text = (tmp_path / "one" / "split_manifest.json").read_text()
    manifest = json.loads(text)
    assert str(tmp_path) not in text
    assert manifest["sources"][0]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert (manifest["split_mode"], manifest["split_ratio"], manifest["split_seed"]) == ("ratio", "2:1:7", 42)
    assert every(tmp_path / "one")["k3"] == {"id": "k3", "question": "clue 3", "context": " [DOC] 3", "answers": ["a3"]}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "mrqa"])
def test_searchqa_in_every_published_form(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        lines = [f"k{i},clue {i},[DOC] {i},\"['a{i}', 'b']\"" for i in range(10)]
        write(source, "\n".join(("key,question,context,answers", *lines)))
    elif suffix == "jsonl":
        write(source, "\n".join(json.dumps({**row, "answers": [*row["answers"], "b"]}) for row in clues(10)))  # type: ignore[misc]
    elif suffix == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(
            pyarrow.Table.from_pylist([{**row, "answers": [*row["answers"], "b"]} for row in clues(10)]), source
        )  # type: ignore[misc]
    else:
        source = tmp_path / "mrqa.jsonl"
        lines = [
            {"context": f"[DOC] {i}", "qas": [{"qid": f"k{i}", "question": f"clue {i}", "answers": [f"a{i}", "b"]}]}
            for i in range(10)
        ]
        write(source, "\n".join(map(json.dumps, ({"header": {}}, *lines))))
    prepare(Order("searchqa", (str(source),), tmp_path / "out"))
    row = every(tmp_path / "out")["k7"]
    assert (row["question"], row["answers"]) == ("clue 7", ["a7", "b"])


def test_parquet_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    source = write(tmp_path / "a.parquet", "PAR1")
    with pytest.raises(DataError, match=r'pip install "skillopt\[data\]"'):
        prepare(Order("searchqa", (str(source),), tmp_path / "out"))


def test_docvqa_takes_the_challenges_json_and_keeps_a_page_once(tmp_path: Path) -> None:
    home = tmp_path / "val"
    items = [
        {"questionId": i, "question": f"q{i}", "image": f"documents/p{i // 2}.png", "docId": 1, "answers": ["x", "y"],
         "question_types": ["form", "layout"], "data_split": "val"}
        for i in range(10)
    ]  # fmt: skip
    write(home / "val_v1.0.json", {"dataset_name": "docvqa", "data": items})
    for i in range(5):
        write(home / "images" / f"p{i}.png", f"png {i}")
    done = prepare(Order("docvqa", (str(home),), tmp_path / "out", ratio="1:1:2"))
    row = every(tmp_path / "out")["3"]
    assert done.files == 5
    assert (row["answer"], row["answers"], row["task_type"]) == ("x", ["x", "y"], "form|layout")
    assert row["image_path"] == "images/p1.png"
    assert (tmp_path / "out" / "images" / "p1.png").read_text() == "png 1"


def test_a_page_name_cannot_lead_out_of_the_source(tmp_path: Path) -> None:
    write(tmp_path / "secret.png", "no")
    table = "questionId,question,answer,image_path\n1,q,a,../secret.png\n"
    source = write(tmp_path / "in" / "items.csv", table)
    with pytest.raises(DataError, match=r"'1': the page \.\./secret\.png is not there"):
        prepare(Order("docvqa", (str(source),), tmp_path / "out"))


def test_livemath_puts_the_right_option_among_the_others(tmp_path: Path) -> None:
    def item(n: int) -> dict[str, object]:
        choices = [{"label": "B", "text": "b"}, {"label": "C.", "content": "c"}]
        return {
            "no": n,
            "mcq": {"question": f"q{n}", "choices": choices, "correct_choice": {"label": "a)", "text": "best"}},
        }

    for month in ("202511", "202512"):
        write(tmp_path / "data" / month / f"qa_{month}_final.json", [item(n) for n in range(1, 4)])
    prepare(Order("livemathematicianbench", (str(tmp_path / "data"),), tmp_path / "out", ratio="1:1:1"))
    row = every(tmp_path / "out")["202512:2"]
    assert row["choices"] == [{"label": label, "text": text} for label, text in (("A", "best"), ("B", "b"), ("C", "c"))]
    assert row["correct_choice"] == {"label": "A", "text": "best"}
    assert row["source_file"] == "qa_202512_final.json"


def test_officeqa_leaves_the_bulletins_where_they_are(tmp_path: Path) -> None:
    names = "treasury_bulletin_1941_01.txt\ntreasury_bulletin_1942_01.txt"
    lines = [f'UID{i},q{i},"2,602",http://x?page=1,"{names}",hard' for i in range(4)]
    write(
        tmp_path / "in" / "officeqa_full.csv",
        "\n".join(("uid,question,answer,source_docs,source_files,difficulty", *lines)),
    )
    write(tmp_path / "in" / "officeqa_pro.csv", "uid,question\nX,other\n")
    write(tmp_path / "in" / "treasury_bulletin_1941_01.txt", "text")
    done = prepare(Order("officeqa", (str(tmp_path / "in"),), tmp_path / "out", ratio="1:1:2"))
    row = every(tmp_path / "out")["UID2"]
    assert (row["ground_truth"], row["answers"], row["task_type"]) == ("2,602", ["2,602"], "hard")
    assert row["source_files"] == names.split("\n")
    assert done.files == 0
    assert any("0 of 4 questions" in note for note in done.notes)
    assert any("officeqa_pro.csv not" in note for note in done.notes)


def test_spreadsheets_copy_whole_pairs_alone(tmp_path: Path) -> None:
    ids = [1, "2-7", 3, 4]
    write(tmp_path / "in" / "dataset.json", [
        {"id": id, "instruction": "do", "answer_position": "A1", "spreadsheet_path": f"spreadsheet/{id}"} for id in ids
    ])  # fmt: skip
    for id in ids:
        for name in (f"1_{id}_input", f"1_{id}_answer", f"2_{id}_input", "notes"):
            write(tmp_path / "in" / "spreadsheet" / str(id) / f"{name}.xlsx", name)
    prepare(Order("spreadsheetbench", (str(tmp_path / "in"),), tmp_path / "out", ratio="1:1:2"))
    books = sorted(path.name for path in (tmp_path / "out" / "spreadsheet" / "2-7").iterdir())
    assert books == ["1_2-7_answer.xlsx", "1_2-7_input.xlsx"]
    assert every(tmp_path / "out")["2-7"]["spreadsheet_path"] == "spreadsheet/2-7"
    (tmp_path / "in" / "spreadsheet" / "3" / "1_3_answer.xlsx").unlink()
    with pytest.raises(DataError, match="'3': no pair of workbooks"):
        prepare(Order("spreadsheetbench", (str(tmp_path / "in"),), tmp_path / "b"))
    order = Order("spreadsheetbench", (str(tmp_path / "in"),), tmp_path / "b", ratio="1:1:1", allow_missing=True)
    assert prepare(order).counts == {"train": 1, "val": 1, "test": 1}


def games(root: Path) -> None:
    for part, count in (("train", 2), ("valid_seen", 1), ("valid_unseen", 2)):
        for i in range(count):
            home = root / part / f"pick_and_place_simple-Mug-None-Desk-{i}" / f"trial_{part}_{i}"
            write(home / "game.tw-pddl", {"solvable": True})
    write(root / "train" / "pick_heat_then_place_in_recep-AppleSliced-None-X-1" / "t" / "game.tw-pddl", {})
    write(root / "train" / "look_at_obj_in_light-X-None-Y-1" / "t" / "game.tw-pddl", {"solvable": False})
    traj = root / "valid_seen" / "pick_and_place_simple-Mug-None-Desk-0" / "trial_valid_seen_0" / "traj_data.json"
    write(traj, {"task_type": "look_at_obj_in_light"})


def test_alfworld_keeps_the_published_parts_and_relative_paths(tmp_path: Path) -> None:
    games(tmp_path / "data" / "json_2.1.1")
    done = prepare(Order("alfworld", (str(tmp_path / "data" / "json_2.1.1"),), tmp_path / "out"))
    assert done.counts == {"train": 2, "val": 1, "test": 2}
    home = "pick_and_place_simple-Mug-None-Desk-1/trial_train_1"
    assert rows(tmp_path / "out")["train"][1] == {
        "id": "train:0001",
        "gamefile": f"json_2.1.1/train/{home}/game.tw-pddl",
        "task_type": "pick_and_place",
    }
    assert rows(tmp_path / "out")["val"][0]["task_type"] == "look_at_obj_in_light"
    assert any("2 games were left out" in note for note in done.notes)


def test_alfworld_follows_a_path_manifest_under_its_ids(tmp_path: Path) -> None:
    games(tmp_path / "data" / "json_2.1.1")
    home = "pick_and_place_simple-Mug-None-Desk-{0}/trial_{1}_{0}/game.tw-pddl"
    for split, part, n in (("train", "train", 1), ("val", "valid_seen", 0), ("test", "valid_unseen", 1)):
        game = f"/elsewhere/json_2.1.0/{part}/{home.format(n, part)}"
        write(tmp_path / "paths" / split / "items.json", [{"id": f"{split}:0000", "gamefile": game}])
    order = Order("alfworld", (str(tmp_path / "data"),), tmp_path / "out", manifest=tmp_path / "paths")
    prepare(order)
    assert rows(tmp_path / "out")["test"] == [
        {
            "id": "test:0000",
            "gamefile": f"json_2.1.1/valid_unseen/{home.format(1, 'valid_unseen')}",
            "task_type": "pick_and_place",
        }
    ]
    done = prepare(Order("alfworld", (str(tmp_path / "paths"),), tmp_path / "listed"))
    assert done.counts == {"train": 1, "val": 1, "test": 1}


def test_two_items_of_one_id_are_refused_and_equal_rows_kept_once(tmp_path: Path) -> None:
    source = write(tmp_path / "a.json", clues(10))
    again = write(tmp_path / "b.json", clues(2))
    done = prepare(Order("searchqa", (str(source), str(again)), tmp_path / "out"))
    assert sum(done.counts.values()) == 10
    assert "2 rows came twice and were kept once" in done.notes
    other = write(tmp_path / "c.json", [{**clues(1)[0], "question": "another"}])
    with pytest.raises(DataError, match="more than one item with the id 'k0'"):
        prepare(Order("searchqa", (str(source), str(other)), tmp_path / "x"))


def test_limit_takes_the_first_of_every_split(tmp_path: Path) -> None:
    source = write(tmp_path / "a.json", clues(40))
    prepare(Order("searchqa", (str(source),), tmp_path / "all"))
    prepare(Order("searchqa", (str(source),), tmp_path / "few", limit=2))
    assert rows(tmp_path / "few") == {name: found[:2] for name, found in rows(tmp_path / "all").items()}


def test_a_split_that_would_be_empty_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "a.json", clues(4))
    with pytest.raises(DataError, match="4 items leave val empty"):
        prepare(Order("searchqa", (str(source),), tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_only_a_directory_of_its_own_is_replaced(tmp_path: Path) -> None:
    source, out = write(tmp_path / "a.json", clues(20)), tmp_path / "out"
    prepare(Order("searchqa", (str(source),), out))
    with pytest.raises(DataError, match="--force"):
        prepare(Order("searchqa", (str(source),), out))
    write(out / "stale.txt", "x")
    prepare(Order("searchqa", (str(source),), out, force=True))
    assert not (out / "stale.txt").exists()
    inside = write(out / "kept.json", clues(20))
    with pytest.raises(DataError, match="lies in"):
        prepare(Order("searchqa", (str(inside),), out, force=True))
    write(tmp_path / "home" / "letters.txt", "dear")
    with pytest.raises(DataError, match=r"holds no split_manifest\.json"):
        prepare(Order("searchqa", (str(source),), tmp_path / "home", force=True))
    assert (tmp_path / "home" / "letters.txt").read_text() == "dear"


def test_a_failed_replacement_leaves_the_old_directory(tmp_path: Path) -> None:
    source, out = write(tmp_path / "a.json", clues(20)), tmp_path / "out"
    prepare(Order("searchqa", (str(source),), out))
    before = tree(out)
    write(source, [{"key": "k", "question": "", "context": "c", "answers": ["a"]}])
    with pytest.raises(DataError, match="'k': no question"):
        prepare(Order("searchqa", (str(source),), out, force=True))
    assert tree(out) == before
