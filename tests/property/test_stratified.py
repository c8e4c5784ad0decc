"""The law of the balanced cut: nothing lost, nothing doubled, every label spread as the ratio says."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.datasets.splits import ratio_weights, split_stratified


@settings(max_examples=200, deadline=None)
@given(
    labels=st.lists(st.sampled_from("abcde"), min_size=3, max_size=120),
    ratio=st.sampled_from(["2:1:2", "2:1:7", "1:1:1", "8:1:1"]),
    seed=st.integers(0, 5),
)
def test_a_balanced_cut(labels: list[str], ratio: str, seed: int) -> None:
    items = list(range(len(labels)))
    cut = split_stratified(items, labels, ratio, seed)
    parts = (cut.train, cut.val, cut.test)
    assert sorted(item for part in parts for item in part) == items
    assert all(parts), "no split is empty"
    assert cut == split_stratified(items, labels, ratio, seed)
    weights, sizes = ratio_weights(ratio), Counter(labels)
    for part, weight in zip(parts, weights, strict=True):
        found = Counter(labels[item] for item in part)
        for label, size in sizes.items():
            # An empty split may have been given one more item.
            assert abs(found[label] - size * weight / sum(weights)) < 3
