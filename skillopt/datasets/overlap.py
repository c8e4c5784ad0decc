"""Near copies between splits: texts whose sets of word triples overlap by at least `THRESHOLD` (Jaccard).

The search is exact prefix filtering, not hashing by chance: two sets that overlap enough must share one of their rarest
triples, so only those are indexed. Ten thousand texts of 500 words take some ten seconds in plain Python.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt.datasets.roles import words

THRESHOLD = 0.7
SHINGLE = 3
_CANDIDATES = 50
"""Texts compared in full with each text: those that share most of its rare triples."""
_COMMON = 500
"""A triple in more texts than this is a template's, and tells no two of them apart."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text to compare; only texts of different `group` and equal `about` can be near copies."""

    text: str
    group: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two near copies by their places in the sequence, `first` before `second`."""

    first: int
    second: int
    similarity: float


def near_pairs(texts: Sequence[Text], threshold: float = THRESHOLD) -> Iterator[Pair]:
    """For every text its nearest earlier text of each other group, where one is near enough."""
    sets = _sets(texts)
    counts: Counter[int] = Counter()
    for found in sets:
        counts.update(found)
    index: defaultdict[int, list[int]] = defaultdict(list)
    for second, own in enumerate(sets):
        prefix = _prefix(own, counts, threshold)
        yield from _matches(second, prefix, index, texts, sets, threshold)
        for shingle in prefix:
            index[shingle].append(second)


def jaccard(one: Sequence[int], other: Sequence[int]) -> float:
    shared = len(set(one).intersection(other))
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def _sets(texts: Sequence[Text]) -> list[array[int]]:
    """Distinct triples as numbers, in order. Words are numbered first: hashes of texts differ from run to run."""
    numbers: dict[str, int] = {}
    made: list[array[int]] = []
    for text in texts:
        ids = [numbers.setdefault(word, len(numbers)) for word in words(text.text)]
        if len(ids) < SHINGLE:
            triples = {hash(tuple(ids))} if ids else set[int]()
        else:
            triples = set(map(hash, zip(ids, ids[1:], ids[2:], strict=False)))
        made.append(array("q", sorted(triples)))
    return made


def _prefix(own: array[int], counts: Counter[int], threshold: float) -> list[int]:
    """The rarest triples, enough that a near copy must have one of them; what only this text has is left out."""
    length = len(own) - math.ceil(threshold * len(own) - 1e-9) + 1 if own else 0
    # Both sorts put equals in the same order everywhere, which the argument above needs.
    rarest = sorted(own, key=counts.__getitem__)[:length]
    return [shingle for shingle in rarest if 1 < counts[shingle] <= _COMMON]


def _matches(
    second: int,
    prefix: Sequence[int],
    index: defaultdict[int, list[int]],
    texts: Sequence[Text],
    sets: Sequence[array[int]],
    threshold: float,
) -> Iterator[Pair]:
    shared: Counter[int] = Counter()
    for shingle in prefix:
        if shingle in index:
            shared.update(index[shingle])
    mine, size = texts[second], len(sets[second])
    able = [
        (count, first)
        for first, count in shared.items()
        if texts[first].group != mine.group
        and texts[first].about == mine.about
        and min(size, len(sets[first])) >= threshold * max(size, len(sets[first]))
    ]
    able.sort(key=lambda one: (-one[0], one[1]))
    best: dict[str, Pair] = {}
    for _, first in able[:_CANDIDATES]:
        similarity = jaccard(sets[first], sets[second])
        group = texts[first].group
        if similarity >= threshold and (group not in best or similarity > best[group].similarity):
            best[group] = Pair(first, second, similarity)
    yield from best.values()
