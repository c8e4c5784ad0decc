"""One contract, every registered benchmark. A benchmark without rows here fails the first test."""

from __future__ import annotations

import pytest

from skillopt.envs.base import Benchmark
from skillopt.registry import BENCHMARKS, load, names
from skillopt.testing.benchmark_contract import BenchmarkContract

ROWS = {
    "own": (
        {"id": "1", "input": "Where is my parcel?", "answer": "shipping", "scorer": "choice",
         "choices": ["billing", "shipping"]},
        {"id": "2", "input": "12 apples at 2.50?", "answer": 30, "scorer": "number"},
        {"id": "3", "input": {"name": "Ada", "year": "1815"}, "answer": {"name": "Ada"}, "scorer": "json_fields"},
        {"id": "4", "input": "Capital of France?", "answer": ["Paris", "the city of Paris"], "scorer": "f1"},
    ),
    "quickstart": (
        {"id": "1", "input": "The mill burned down in 1987.\nQuestion: When did it burn down?", "answer": "1987",
         "scorer": "f1"},
        {"id": "2", "input": "Piet sells maps.\nQuestion: Who sells maps?", "answer": "Piet", "scorer": "f1"},
    ),
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
