from collections import Counter

import pytest

from skillopt.envs.base import DataSource, grader_problems
from skillopt.envs.quickstart.adapter import Quickstart
from skillopt.testing.benchmark_contract import BenchmarkContract
from skillopt.types import Attempt


def splits(task: str):  # type: ignore[no-untyped-def]
    return Quickstart.configured({"task": task}).load(DataSource())


class TestQuickstartContract(BenchmarkContract):
    def benchmark(self) -> Quickstart:
        found = Quickstart.configured({})
        assert isinstance(found, Quickstart)
        return found

    def rows(self):  # type: ignore[no-untyped-def]
        return self.benchmark().rows(DataSource())["val"][:4]


@pytest.mark.parametrize(("task", "sizes"), [("passages", (60, 40, 60)), ("tickets", (36, 24, 36))])
def test_the_shipped_items_are_unique_and_can_be_graded(task: str, sizes: tuple[int, int, int]) -> None:
    found = splits(task)
    assert (len(found.train), len(found.val), len(found.test)) == sizes
    items = (*found.train, *found.val, *found.test)
    assert len({item.data["input"] for item in items}) == len({item.id for item in items}) == sum(sizes)
    assert grader_problems(Quickstart.configured({"task": task}), items) == ()


def test_no_passage_stands_in_two_splits_and_every_answer_stands_in_its_passage() -> None:
    found = splits("passages")
    texts = [{item.data["input"].partition("\n")[0] for item in part} for part in (found.train, found.val, found.test)]
    assert not (texts[0] & texts[1] or texts[0] & texts[2] or texts[1] & texts[2])
    for item in (*found.train, *found.val, *found.test):
        assert item.data["answer"].lower() in item.data["input"].partition("\n")[0].lower()


def test_tickets_are_balanced_in_every_split() -> None:
    found = splits("tickets")
    for part in (found.train, found.val, found.test):
        assert len(set(Counter(item.data["answer"] for item in part).values())) == 1


def test_an_article_makes_no_difference_but_another_word_does() -> None:
    benchmark = Quickstart.configured({})
    item = next(i for i in splits("passages").train if i.data["answer"].startswith("a "))
    assert benchmark.score(item, Attempt(item.data["answer"][2:], ())).passed
    assert not benchmark.score(item, Attempt(item.data["answer"] + " today", ())).passed
    assert benchmark.example(item) is not None
