"""The guide's loader: same words, same shuffles, and refusals where the data would be wrong."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.splits import canonical_split
from skillopt.errors import DataError


@pytest.fixture
def split_dir(tmp_path: Path) -> Path:
    for name, n in (("train", 5), ("val", 3), ("test", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "items.json").write_text(json.dumps([{"uid": f"{name}{i}"} for i in range(n)]))
    return tmp_path


def loader(split_dir: Path, **options: Any) -> SplitDataLoader:
    made = SplitDataLoader(split_dir=str(split_dir), split_mode="split_dir", **options)
    made.setup({})
    return made


class GuideLoader(SplitDataLoader):
    """As the public guide writes it."""

    def load_split_items(self, split_path: str) -> list[dict[str, Any]]:
        json_files = sorted(Path(split_path).glob("*.json"))
        with json_files[0].open(encoding="utf-8") as f:
            return [{"id": str(raw["uid"])} for raw in json.load(f)]


def test_a_subclass_of_the_guide_works_in_both_modes(split_dir: Path, tmp_path: Path) -> None:
    guide = GuideLoader(split_mode="split_dir", unknown_option=1)
    guide.setup({"split_dir": str(split_dir)})
    assert [row["id"] for row in guide.val_items] == ["val0", "val1", "val2"]
    (tmp_path / "raw.json").write_text(json.dumps([{"uid": i} for i in range(10)]))
    guide = GuideLoader(data_path=str(tmp_path / "raw.json"))
    guide.setup({})
    assert [len(guide.train_items), len(guide.val_items), len(guide.test_items)] == [2, 1, 7]
    assert all(set(row) == {"id"} for row in guide.test_items)


def test_train_batches_follow_the_seed(split_dir: Path) -> None:
    data = loader(split_dir)
    order = list(data.train_items)
    random.Random(7).shuffle(order)
    batch = data.build_train_batch(3, seed=7)
    assert (batch.phase, batch.split, batch.seed, batch.batch_size, batch.payload) == (
        "train",
        "train",
        7,
        3,
        order[:3],
    )
    assert data.train_items[0] == {"uid": "train0"}
    assert data.get_train_size() == 5


def test_an_epoch_is_cut_from_one_shuffle_and_refilled_when_items_run_out(split_dir: Path) -> None:
    data = loader(split_dir)
    plan = data.plan_train_epoch(epoch=2, steps_per_epoch=2, accumulation=2, batch_size=2, seed=42)
    order = list(data.train_items)
    random.Random(2042).shuffle(order)
    refill = list(data.train_items)
    random.Random(2046).shuffle(refill)
    assert [b.seed for b in plan] == [2043, 2044, 2045, 2046]
    assert [b.payload for b in plan] == [order[:2], order[2:4], order[4:], refill[:2]]


@pytest.mark.parametrize(
    ("split", "n"), [("train", 5), ("val", 3), ("valid_seen", 3), ("selection", 3), ("valid_unseen", 2)]
)
def test_eval_batches_take_items_in_file_order(split_dir: Path, split: str, n: int) -> None:
    data = loader(split_dir)
    assert data.build_eval_batch(0, split, 1).batch_size == n
    assert data.build_eval_batch(99, split, 1).batch_size == n
    first = data.build_eval_batch(1, split, 1)
    assert (first.split, first.payload) == (split, data.items_of(split)[:1])


def test_an_unknown_split_is_refused(split_dir: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'test'"):
        loader(split_dir).build_eval_batch(0, "tset", 1)
    assert canonical_split("selection") == "val"


def test_limit_cuts_every_split(split_dir: Path) -> None:
    data = loader(split_dir, limit=2)
    assert [len(data.train_items), len(data.val_items), len(data.test_items)] == [2, 2, 2]


def test_refusals_say_what_to_set(split_dir: Path, tmp_path: Path) -> None:
    cases = {
        "data_path": SplitDataLoader(),
        "split_dir: a directory": SplitDataLoader(split_mode="split_dir"),
        "no split_mode 'ratios'": SplitDataLoader(split_mode="ratios"),
        "set split_mode to split_dir": SplitDataLoader(data_path=str(split_dir)),
        "no directory train/, val/, test/": SplitDataLoader(split_mode="split_dir", split_dir=str(split_dir / "train")),
        "exactly one data file, found none": SplitDataLoader(data_path=str(tmp_path / "empty")),
        "ratio '2:1' is not": SplitDataLoader(data_path=str(split_dir / "train"), split_ratio="2:1"),
    }
    (tmp_path / "empty").mkdir()
    for message, made in cases.items():
        with pytest.raises(DataError) as caught:
            made.setup({})
        assert message in str(caught.value)


def test_a_ratio_split_is_kept_portable_and_untouched_when_right(tmp_path: Path) -> None:
    (tmp_path / "raw.jsonl").write_text("".join(f'{{"id": "{i}", "q": "é"}}\n' for i in range(10)))
    cfg = {"env": "toy", "out_root": str(tmp_path / "run"), "data_path": str(tmp_path / "raw.jsonl")}
    SplitDataLoader().setup(cfg)
    home = tmp_path / "run" / "_generated_splits" / "toy_2-1-7_seed42"
    files = sorted(p for p in home.rglob("*") if p.is_file())
    assert [p.relative_to(home).as_posix() for p in files] == [
        "split_manifest.json", "test/items.json", "train/items.json", "val/items.json",
    ]  # fmt: skip
    assert json.loads(files[0].read_text()) == {
        "source_data_path": "../../../raw.jsonl",
        "split_mode": "ratio",
        "split_ratio": "2:1:7",
        "split_seed": 42,
        "counts": {"train": 2, "val": 1, "test": 7},
    }
    assert "é" in files[1].read_text(encoding="utf-8")
    before = [p.stat().st_ino for p in files]
    SplitDataLoader().setup(cfg)
    assert [p.stat().st_ino for p in files] == before
