"""The obligations of every benchmark, checked on this one, without a model. Run: `pytest skillopt/envs/_template`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.envs.base import Benchmark, DataSource
from skillopt.registry import BENCHMARKS, load
from skillopt.testing.benchmark_contract import BenchmarkContract
from skillopt.types import JSON, Attempt

HERE = Path(__file__).parent


def made() -> Benchmark:
    found = load(BENCHMARKS, f"{HERE / 'adapter.py'}:TemplateBenchmark")
    assert issubclass(found, Benchmark)
    return found.configured({})


class TestContract(BenchmarkContract):
    def benchmark(self) -> Benchmark:
        return made()

    def rows(self) -> Sequence[Mapping[str, JSON]]:
        return ({"id": "1", "question": "Which team?", "answer": "harbour"},)


def test_the_data_loads_and_every_gold_answer_passes() -> None:
    benchmark = made()
    splits = benchmark.load(DataSource(split_mode="split_dir", split_dir=str(HERE / "data")))
    for item in (*splits.train, *splits.val, *splits.test):
        assert benchmark.score(item, Attempt(benchmark.gold(item), ())).hard == 1.0


def test_a_wrong_answer_says_why() -> None:
    benchmark = made()
    item = benchmark.item({"id": "1", "question": "Which team?", "answer": "harbour"}, "val")
    assert "instead of 'harbour'" in benchmark.score(item, Attempt("ledger", ())).detail["fail_reason"]
