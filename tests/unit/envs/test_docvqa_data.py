from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from skillopt.datasets.checks import Splits
from skillopt.envs.base import DataSource, grader_problems
from skillopt.envs.docvqa.adapter import DocVQA, DocVQAOptions
from skillopt.errors import DataError
from skillopt.testing.mini_docvqa import draw, transcript, write_docvqa

Row = dict[str, object]


def load(source: DataSource, **options: object) -> Splits:
    return DocVQA(DocVQAOptions.model_validate(options)).load(source)


def folder(split_dir: Path) -> DataSource:
    return DataSource(split_mode="split_dir", split_dir=str(split_dir))


@pytest.fixture
def mini(tmp_path: Path) -> Path:
    return write_docvqa(tmp_path / "mini", (4, 2, 3))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def all_rows(split_dir: Path) -> list[dict[str, str]]:
    return [row for name in ("train", "val", "test") for row in table(split_dir / name / "docvqa.csv")]


def as_json(split_dir: Path, **changes: object) -> None:
    """The same data as JSON lines, lists as lists and numbers as numbers."""
    for name in ("train", "val", "test"):
        file = split_dir / name / "docvqa.csv"
        rows = [
            {**row, "questionId": int(row["questionId"]), "docId": int(row["docId"]), "answer": eval(row["answer"])}
            for row in table(file)
        ]
        (split_dir / name / "rows.jsonl").write_text("\n".join(json.dumps({**row, **changes}) for row in rows))
        file.unlink()


def test_a_split_directory_of_tables(mini: Path) -> None:
    splits = load(folder(mini))
    assert (len(splits.train), len(splits.val), len(splits.test)) == (4, 2, 3)
    first, row = splits.train[0], table(mini / "train" / "docvqa.csv")[0]
    assert (first.id, first.kind) == (row["questionId"], row["topic"])
    assert first.data["question"] == row["question"] and [repr(first.data["answers"])] == [row["answer"]]
    assert first.data["image_paths"] == [str(mini / row["image_path"])] and first.data["docId"] == row["docId"]


def test_a_table_comes_before_a_manifest_beside_it(mini: Path) -> None:
    (mini / "train" / "aaa.json").write_text("[]")
    (mini / "train" / "zzz.csv").write_text("id\n")
    assert len(load(folder(mini)).train) == 4


def test_tables_and_json_give_the_same_items(mini: Path) -> None:
    tables = load(folder(mini))
    as_json(mini)
    assert load(folder(mini)) == tables


def test_a_moved_data_set_is_the_same_data(mini: Path, tmp_path: Path) -> None:
    before = load(folder(mini))
    shutil.move(mini, tmp_path / "elsewhere")
    after = load(folder(tmp_path / "elsewhere"))
    assert after.digests() == before.digests()
    assert after.train[0].data["image_paths"] != before.train[0].data["image_paths"]


def test_another_page_is_another_item(mini: Path) -> None:
    before = load(folder(mini))
    draw((("other",),), Path(before.train[0].data["image_paths"][0]))
    after = load(folder(mini))
    assert after.train[0].digest != before.train[0].digest
    assert after.digests()["test"] == before.digests()["test"]


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_ratio_mode(mini: Path, tmp_path: Path, suffix: str) -> None:
    """The cut is kept in the run as JSON, far from the images."""
    rows = all_rows(mini)
    data = mini / f"all.{suffix}"
    if suffix == "json":
        data.write_text(json.dumps(rows))
    else:
        with data.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    run = tmp_path / "run"
    source = DataSource(data_path=str(data), split_ratio="1:1:1", split_output_dir=str(run))
    splits = load(source)
    assert [len(s) for s in (splits.train, splits.val, splits.test)] == [3, 3, 3]
    assert (run / "train" / "items.json").is_file() and str(tmp_path) not in (run / "train" / "items.json").read_text()
    assert load(source) == splits


def write_rows(root: Path, row: Row, *more: Row) -> DataSource:
    """One row in question, and sound ones for the other splits."""
    draw((("page",),), root / "ok.png")
    sound: Row = {"question": "q", "answer": "a", "image_path": "ok.png"}
    splits = {"train": [row, *more], "val": [{**sound, "id": "v"}], "test": [{**sound, "id": "t", "question": "z"}]}
    for name, rows in splits.items():
        (root / name).mkdir(exist_ok=True)
        (root / name / "items.json").write_text(json.dumps(rows))
    return folder(root)


def test_the_marker_in_the_question_names_the_image(tmp_path: Path) -> None:
    source = write_rows(tmp_path, {"id": 1, "question": "Who? document_path: ok.png", "ground_truth": "['Ada']"})
    item = load(source).train[0]
    assert item.data["question"] == "Who?" and item.data["answers"] == ["Ada"] and item.kind == "docvqa"
    assert item.data["image_paths"] == [str(tmp_path / "ok.png")]


@pytest.mark.parametrize("form", [["two.png", "ok.png"], "['two.png', 'ok.png']", '["two.png", "ok.png"]'])
def test_several_pages_stay_in_their_order(tmp_path: Path, form: object) -> None:
    draw((("second",),), tmp_path / "two.png")
    source = write_rows(tmp_path, {"id": 1, "question": "Who?", "answer": "a", "image_paths": form, "category": "form"})
    item = load(source).train[0]
    assert [Path(p).name for p in item.data["image_paths"]] == ["two.png", "ok.png"] and item.kind == "form"
    task = DocVQA(DocVQAOptions()).task(item, "")
    assert [p.path.name for p in task.pictures] == ["two.png", "ok.png"] and "2 pages" in task.user


def test_where_images_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, root, here = tmp_path / "data", tmp_path / "root", tmp_path / "here"
    places = [root, data, data / "train", here]
    for place in places:
        place.mkdir(exist_ok=True)
        draw(((place.name,),), place / "p.png")
    monkeypatch.chdir(here)
    source = write_rows(data, {"id": 1, "question": "Who?", "answer": "a", "image_path": "p.png"})
    for place in places:
        found = Path(load(source, image_root=str(root)).train[0].data["image_paths"][0])
        assert found.parent == place
        found.unlink()
    with pytest.raises(DataError, match=r"'p\.png' does not exist.*root.*data.*train.*here"):
        load(source, image_root=str(root))


def test_every_unusable_row_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_text("BM: my password, please keep it to yourself")
    (tmp_path / "empty.png").touch()
    draw((("page",),), tmp_path / "short.png")
    (tmp_path / "short.png").write_bytes((tmp_path / "short.png").read_bytes()[:-30])
    good: Row = {"question": "q", "answer": "a"}
    source = write_rows(
        tmp_path,
        {**good, "id": "gone", "image_path": "nowhere/x.png"},
        {**good, "id": "text", "image_path": "secret.png"},
        {**good, "id": "both", "image_paths": ["empty.png", "y.png"], "answer": "[]"},
        {**good, "id": "none"},
        {**good, "id": "cut", "image_path": "short.png"},
        {**good, "id": "folder", "image_path": "train"},
        {**good, "id": "name", "image_path": "x" * 5000},
        {"id": "question", "question": " document_path: ok.png", "answer": "a"},
        {"question": "no id", "answer": "a", "image_path": "ok.png"},
    )
    with pytest.raises(DataError) as caught:
        load(source)
    told = caught.value.problems
    expected = {
        "gone": ["nowhere/x.png", "does not exist"],
        "text": ["secret.png is not an image"],
        "both": ["empty.png is empty", "'y.png' does not exist", "no expected answer"],
        "none": ["no image"],
        "cut": ["short.png is cut off"],
        "folder": ["'train' does not exist"],
        "name": ["does not exist"],
        "question": ["the question is empty"],
    }
    for id, words in expected.items():
        line = next(problem for problem in told if f"(id {id!r})" in problem)
        assert all(word in line for word in words), line
    assert any("has no id" in problem for problem in told) and len(told) == 9
    assert "password" not in str(caught.value)


def test_the_miniature_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    one, two = load(folder(write_docvqa(tmp_path / "1"))), load(folder(write_docvqa(tmp_path / "2")))
    assert one.digests() == two.digests() != load(folder(write_docvqa(tmp_path / "3", seed=1))).digests()
    assert [len(s) for s in (one.train, one.val, one.test)] == [8, 4, 8]
    for item in (*one.train, *one.val, *one.test):
        text = transcript(Path(item.data["image_paths"][0]).read_bytes())
        assert item.data["answers"][0] in text
    pages = [{item.data["pages"][0] for item in split} for split in (one.train, one.val, one.test)]
    assert not pages[0] & pages[1] | pages[0] & pages[2] | pages[1] & pages[2]


def test_the_grader_holds_on_real_items(shared_data: Path) -> None:
    source = DataSource(data_path=str(shared_data / "docvqa"), split_ratio="2:1:7")
    splits = load(source)
    items = (*splits.train, *splits.val, *splits.test)
    assert len(items) == 40 and all(Path(p).is_file() for item in items for p in item.data["image_paths"])
    assert grader_problems(DocVQA(DocVQAOptions()), items) == ()
    assert any(len(item.data["answers"]) > 1 for item in items) and {"table/list", "form"} <= {i.kind for i in items}
