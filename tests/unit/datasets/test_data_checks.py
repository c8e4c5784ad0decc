"""Rows become items only when the whole data set is sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from skillopt.datasets.checks import checked_items, safe_name
from skillopt.errors import DataError
from skillopt.types import Item

Rows = dict[str, list[dict[str, Any]]]


def make(row: Mapping[str, Any], split: str) -> Item:
    if row.get("q") == "odd":
        raise ValueError("q must not be odd")
    return Item.make(str(row["id"]), split, "t", row)


def rows(**changed: list[dict[str, Any]]) -> Rows:
    return {"train": [{"id": 1, "q": "a"}], "val": [{"id": 2, "q": "b"}], "test": [{"id": 3, "q": "c"}]} | changed


def problems(**changed: list[dict[str, Any]]) -> tuple[str, ...]:
    with pytest.raises(DataError) as caught:
        checked_items(rows(**changed), make=make, required=("id", "q"))
    return caught.value.problems


def test_sound_rows_become_items() -> None:
    splits = checked_items(rows(), make=make, required=("id", "q"))
    assert [i.id for i in splits.of("valid_seen")] == ["2"]
    assert set(splits.digests()) == {"train", "val", "test"}
    other = checked_items(rows(val=[{"id": 2, "q": "B"}]), make=make, required=("id",)).digests()
    assert [k for k, v in splits.digests().items() if other[k] != v] == ["val"]


def test_all_problems_are_reported_together() -> None:
    found = problems(
        train=[
            {"q": "x"},
            {"id": 7},
            {"id": 8, "q": " "},
            {"id": 9, "q": "odd"},
            {"id": 1, "q": "a"},
            {"id": 1, "q": "z"},
        ],
        val=[{"id": 1, "q": "b"}, {"id": 5, "q": "a"}],
        test=[],
    )
    assert found == (
        "train item 0: the item has no id",
        "train item 1 (id 7): the field 'q' is missing",
        "train item 2 (id 8): the field 'q' is empty",
        "train item 3 (id 9): q must not be odd",
        "train item 5 (id 1): the id '1' is twice in this split; ids must be unique",
        "val item 0 (id 1): the id '1' is also in train; ids must be unique",
        "val item 1 (id 5): the same content is in train as id '1'; remove it from one split",
        "test: the split is empty; every split needs at least one item",
    )


def test_rows_that_hold_only_names_are_not_the_same_content() -> None:
    named = {name: [{"id": name, "task_type": "pick"}] for name in ("train", "val", "test")}
    assert checked_items(named, make=make, required=("id",)).train


def test_false_and_zero_are_values() -> None:
    assert checked_items(rows(train=[{"id": 0, "q": False}]), make=make, required=("id", "q")).train[0].id == "0"


def test_a_long_list_is_cut() -> None:
    found = problems(train=[{"id": i} for i in range(30)])
    assert len(found) == 21
    assert found[-1] == "and 10 more (30 problems in all)"


@pytest.mark.parametrize("id", ["ok_1.a-B", "x" * 80])
def test_a_safe_id_is_its_own_name(id: str) -> None:
    assert safe_name(id) == id


@pytest.mark.parametrize(
    "id", ["", ".", "..", "../../etc", "a/b", "a\\b", "x" * 81, "é", "a\x00b", ".hidden", "\ud800"]
)
def test_other_ids_get_a_name_of_their_own(id: str) -> None:
    name = safe_name(id)
    assert name != id
    assert 0 < len(name) <= 80
    assert not name.startswith(".")
