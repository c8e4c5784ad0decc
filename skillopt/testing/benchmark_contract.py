"""The obligations of a benchmark as a test class: subclass it, give `benchmark` and `rows`, and let pytest run it.

It needs no model and no network; plugin authors use the same class as the built-in benchmarks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy

from skillopt.agents.base import Task
from skillopt.envs.base import Benchmark, grader_problems
from skillopt.types import JSON, Attempt, Item

SKILL = "# Skill\n\nRemember the purple walrus.\n"
WRONG = "<answer>a purple walrus, certainly</answer>"
STRANGE = ("\x00", "<answer>", "</answer><answer>", "𝔘𝔫𝔦 ç", "{" * 50, "null", "x" * 20_000)


class BenchmarkContract(ABC):
    """`rows` are a few ordinary rows of the benchmark's data."""

    @abstractmethod
    def benchmark(self) -> Benchmark: ...

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, JSON]]: ...

    def items(self) -> list[Item]:
        return [self.benchmark().item(row, "val") for row in self.rows()]

    def test_declares_itself(self) -> None:
        cls = type(self.benchmark())
        assert cls.name and cls.task_types and "id" in cls.required
        assert cls.Config.model_config.get("extra") == "forbid"

    def test_items_keep_their_id_and_kind(self) -> None:
        benchmark = self.benchmark()
        for row, item in zip(self.rows(), self.items(), strict=True):
            assert item.id == str(row["id"])
            assert item.kind in benchmark.task_types

    def test_an_awkward_id_is_only_a_name(self) -> None:
        row = {**self.rows()[0], "id": "../a b/ç.json"}
        assert self.benchmark().item(row, "val").id == "../a b/ç.json"

    def test_the_skill_is_in_the_system_text_once(self) -> None:
        for item in self.items():
            task = self.benchmark().task(item, SKILL)
            assert task.system.count("purple walrus") == 1
            assert "purple walrus" not in task.user

    def test_an_empty_skill_leaves_no_trace(self) -> None:
        for item in self.items():
            assert self.benchmark().task(item, "").system == self.benchmark().task(item, " \n").system
            assert len(self.benchmark().task(item, "").system) < len(self.benchmark().task(item, SKILL).system)

    def test_tasks_are_pure_and_items_untouched(self) -> None:
        for item in self.items():
            before = deepcopy(dict(item.data))
            first: Task = self.benchmark().task(item, SKILL)
            assert first == self.benchmark().task(item, SKILL)
            assert dict(item.data) == before

    def test_the_grader_accepts_gold_and_refuses_empty(self) -> None:
        assert grader_problems(self.benchmark(), self.items()) == ()

    def test_the_grader_never_raises_and_stays_in_bounds(self) -> None:
        for item in self.items():
            for text in STRANGE:
                score = self.benchmark().score(item, Attempt(text, ()))
                assert 0.0 <= score.hard <= 1.0 and 0.0 <= score.soft <= 1.0
                assert score.passed or score.detail.get("fail_reason")

    def test_the_grader_refuses_a_wrong_answer(self) -> None:
        for item in self.items():
            assert not self.benchmark().score(item, Attempt(WRONG, ())).passed

    def test_scoring_is_pure(self) -> None:
        benchmark, item = self.benchmark(), self.items()[0]
        before = deepcopy(dict(item.data))
        attempt = Attempt(benchmark.gold(item), ())
        assert benchmark.score(item, attempt) == benchmark.score(item, attempt)
        assert dict(item.data) == before

    def test_items_say_what_they_ask(self) -> None:
        assert all(self.benchmark().describe(item).strip() for item in self.items())
