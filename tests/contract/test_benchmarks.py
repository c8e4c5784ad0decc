"""One contract, every registered benchmark. A benchmark without rows here fails the first test."""

from __future__ import annotations

import pytest

from skillopt.envs.base import Benchmark
from skillopt.registry import BENCHMARKS, load, names
from skillopt.testing.benchmark_contract import BenchmarkContract

ROWS = {
    "searchqa": (
        {"id": "q1", "question": "This 1974 Terry Jacks hit", "context": "[DOC] x", "answers": ["Seasons in the Sun"]},
        {"id": "q2", "question": "A two-article band", "context": "[DOC] The The", "answers": ["The The", "the the"]},
    ),
}  # fmt: skip


def test_every_registered_benchmark_is_covered() -> None:
    assert set(names(BENCHMARKS)) == set(ROWS)


@pytest.mark.parametrize("name", sorted(ROWS))
class TestContract(BenchmarkContract):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name

    def benchmark(self) -> Benchmark:
        cls = load(BENCHMARKS, self.name)
        assert issubclass(cls, Benchmark)
        return cls.configured({})

    def rows(self):
        return ROWS[self.name]
