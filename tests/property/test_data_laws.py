"""Laws of splitting, planning and naming."""

from __future__ import annotations

import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from skillopt.datasets.checks import safe_name
from skillopt.datasets.plan import epoch_plan, steps_per_epoch
from skillopt.datasets.splits import ratio_counts, split_by_ratio
from skillopt.types import Item

weights = st.tuples(*[st.integers(1, 20)] * 3)
totals = st.integers(0, 500)
seeds = st.integers(0, 10**6)


def ratio(parts: tuple[int, ...]) -> str:
    return ":".join(map(str, parts))


@given(totals, weights)
def test_counts_add_up_and_follow_the_largest_remainders(total: int, parts: tuple[int, ...]) -> None:
    counts = ratio_counts(total, ratio(parts))
    assert sum(counts) == total
    exact = [Fraction(total * w, sum(parts)) for w in parts]
    floors = [int(e) for e in exact]
    assert all(c - f in (0, 1) for c, f in zip(counts, floors, strict=True))
    raised = [e - f for c, e, f in zip(counts, exact, floors, strict=True) if c > f]
    left = [e - f for c, e, f in zip(counts, exact, floors, strict=True) if c == f]
    assert min(raised, default=Fraction(1)) >= max(left, default=Fraction(0))


@given(totals, weights, seeds)
def test_every_item_lands_in_exactly_one_split(total: int, parts: tuple[int, ...], seed: int) -> None:
    cut = split_by_ratio(range(total), ratio(parts), seed)
    assert sorted((*cut.train, *cut.val, *cut.test)) == list(range(total))
    assert (len(cut.train), len(cut.val), len(cut.test)) == ratio_counts(total, ratio(parts))
    assert cut == split_by_ratio(range(total), ratio(parts), seed)


@given(st.integers(0, 60), st.integers(1, 5), st.integers(1, 9), st.integers(1, 4), seeds)
def test_an_epoch_is_one_pass(n: int, epoch: int, batch_size: int, accumulation: int, seed: int) -> None:
    items = tuple(Item.make(str(i), "train", "t", {}) for i in range(n))
    plan = epoch_plan(items, epoch=epoch, batch_size=batch_size, accumulation=accumulation, seed=seed)
    assert plan == epoch_plan(items, epoch=epoch, batch_size=batch_size, accumulation=accumulation, seed=seed)
    assert len(plan) == steps_per_epoch(n, batch_size, accumulation)
    parts = [part for batch in plan for part in batch.parts]
    assert all(part.items for part in parts)
    assert [part.seed for part in parts] == [seed + epoch * 1000 + i + 1 for i in range(len(parts))]
    passed = [item.id for part in parts for item in part.items][:n]
    assert sorted(passed, key=int) == [item.id for item in items]
    assert [batch.step for batch in plan] == [(epoch - 1) * len(plan) + k + 1 for k in range(len(plan))]
    ids = [part.id for part in parts]
    assert len(set(ids)) == len(ids)
    if plan and accumulation == 1:
        assert ids[0] == plan[0].id == f"e{epoch:02d}s01"
    elif plan:
        assert ids[0] == f"e{epoch:02d}s01b0"


@given(
    st.lists(st.one_of(st.text(max_size=12), st.text("ab/._-", max_size=5), st.text("a/", min_size=75)), unique=True)
)
def test_names_of_files_are_safe_and_distinct(ids: list[str]) -> None:
    names = [safe_name(id) for id in ids]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,79}", name) for name in names)
