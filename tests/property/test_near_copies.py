"""The quick search for near copies finds what comparing all with all finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.datasets.overlap import THRESHOLD, Text, near_pairs


def triples(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return (
        {tuple(words[i : i + 3]) for i in range(len(words) - 2)}
        if len(words) > 2
        else {tuple(words)}
        if words
        else set()
    )


def similarity(one: Text, other: Text) -> float:
    a, b = triples(one.text), triples(other.text)
    return len(a & b) / len(a | b) if a | b else 0.0


texts = st.lists(
    st.builds(Text, st.lists(st.sampled_from("abc"), max_size=14).map(" ".join), st.sampled_from(["train", "test"])),
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(texts)
def test_no_near_copy_is_missed_and_none_invented(found: list[Text]) -> None:
    best: dict[tuple[int, str], float] = {}
    for second, mine in enumerate(found):
        for other in found[:second]:
            alike = similarity(mine, other)
            if other.group != mine.group and alike >= THRESHOLD:
                key = (second, other.group)
                best[key] = max(alike, best.get(key, 0.0))
    quick = {(pair.second, found[pair.first].group): pair.similarity for pair in near_pairs(found)}
    assert quick == best
