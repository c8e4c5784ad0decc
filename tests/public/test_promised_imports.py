"""Names that the public documents promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_public_names() -> None:
    import skillopt
    from skillopt.datasets.base import BatchSpec, SplitDataLoader
    from skillopt.optimizer.schedules import build_scheduler

    assert skillopt.Skill and skillopt.Edit and skillopt.Patch and skillopt.train and skillopt.evaluate
    assert SplitDataLoader and BatchSpec
    assert skillopt.EnvAdapter.__module__.startswith("skillopt.envs") and skillopt.benchmark("x")
    assert [build_scheduler("cosine", 4, 2, 8).get_lr(s) for s in range(1, 9)] == [4, 4, 3, 3, 3, 2, 2, 2]
    with pytest.raises(AttributeError):
        skillopt.nothing_of_this_name  # noqa: B018


def test_a_result_of_the_guide_keeps_what_nobody_knows() -> None:
    from skillopt.types import RolloutResult

    row = {"id": 7, "hard": 0.5, "soft": 1, "fail_reason": "late", "question": None, "gold_answers": ["a"], "phase": ""}
    result = RolloutResult.from_dict(row)
    assert (result.id, result.hard, result.question) == ("7", 0.5, "")
    assert result.extras == {"gold_answers": ["a"], "phase": ""}
    assert result.to_dict() == {"id": "7", "hard": 0.5, "soft": 1, "fail_reason": "late", **result.extras}


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, skillopt.cli; print([m for m in ('pydantic', 'rich', 'aiohttp', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_loop_fits_on_one_screen() -> None:
    assert len((ROOT / "skillopt/engine/train.py").read_text().splitlines()) <= 60


def test_modules_and_functions_stay_small() -> None:
    import ast

    for file in (ROOT / "skillopt").rglob("*.py"):
        text = file.read_text()
        assert text.count("\n") <= 400, f"{file} is too long"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 40, f"{file}:{node.lineno} {node.name} is too long"
