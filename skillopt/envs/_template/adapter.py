"""TemplateBenchmark: a question, a short answer, and a grader that compares them.

Change `task` to what your target should be asked and `score` to what makes an answer good; `skillopt train` does the
rest. Obligations: `skillopt.envs.base.Benchmark`, checked by the test beside this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from skillopt.agents.base import Task
from skillopt.envs.base import Benchmark, Options
from skillopt.types import JSON, Attempt, Item, Score


class TemplateBenchmarkOptions(Options):
    """Keys of the `env` section that only this benchmark has."""

    max_completion_tokens: int = Field(default=1024, ge=1, description="Output limit of one attempt")


class TemplateBenchmark(Benchmark):
    name: ClassVar[str] = "template"
    Config: ClassVar[type[Options]] = TemplateBenchmarkOptions
    task_types: ClassVar[tuple[str, ...]] = ("routing",)
    required: ClassVar[tuple[str, ...]] = ("id", "question", "answer")

    def __init__(self, options: TemplateBenchmarkOptions) -> None:
        self._options = options
        self._frame = (Path(__file__).parent / "prompts" / "target.md").read_text(encoding="utf-8").strip()

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        """A row of the data as an item. Raise ValueError to refuse a row, saying why; all refusals are reported."""
        if not isinstance(row["answer"], str):
            raise ValueError("answer must be a text")
        return super().item(row, split)

    def task(self, item: Item, skill: str) -> Task:
        """What the target is asked. The skill stands in the system text; the expected answer stands nowhere."""
        section = f"\n\n## Skill\n\n{skill.strip()}" if skill.strip() else ""
        user = f"Question: {item.data['question']}"
        return Task(self._frame + section, user, max_tokens=self._options.max_completion_tokens)

    def score(self, item: Item, attempt: Attempt) -> Score:
        """`hard` decides, `soft` gives partial credit; `fail_reason` is what analysts read about a failure."""
        said, expected = _plain(attempt.answer), _plain(str(item.data["answer"]))
        detail: dict[str, JSON] = {"expected": item.data["answer"]}
        if said == expected:
            return Score(1.0, 1.0, detail)
        reason = f"wrong: {said[:200]!r} instead of {expected!r}" if said else "no answer"
        return Score(0.0, 0.0, detail | {"fail_reason": reason})

    def gold(self, item: Item) -> str:
        """A perfect reply; the grader is checked with it."""
        return str(item.data["answer"])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")
