"""Scorers by name: what each accepts and refuses, and how a setting or an answer that means nothing is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.envs.own.call_score import as_score, found_function
from skillopt.envs.own.grading import Case
from skillopt.envs.own.scoring import MEANINGS, check, grader, pass_mark
from skillopt.envs.own.text_scores import similarity
from skillopt.errors import ConfigError
from skillopt.types import JSON, Score

LABELS = ("refund", "refund request", "shipping")


@pytest.mark.parametrize(
    ("name", "answer", "output", "hard"),
    [
        ("exact", "Paris", " paris\n", 1),
        ("exact", ["Paris", "Lutetia"], "lutetia", 1),
        ("exact", "Paris", "It is Paris", 0),
        ("exact", 12, "12", 1),
        ("contains", "no", "The answer is: No.", 1),
        ("contains", "no", "nothing", 0),
        ("contains", "C++", "write it in C++, please", 1),
        ("f1", "the red fox", "Red fox!", 1),
        ("f1", "the red fox", "a red dog", 0),
        ("f1:0.5", "the red fox", "a red dog", 1),
        ("anls", "Dr. Müller", "Dr. Muller", 1),
        ("anls", "Dr. Müller", "somebody else", 0),
        ("anls:0.95", "Dr. Müller", "Dr. Muller", 0),
        ("regex", r"^\d{4}-\d{2}$", "It was\n2024-05", 1),
        ("regex", r"^\d{4}$", "2024-05", 0),
        (r"regex:<answer>(.*?)</answer>", "Paris", "<answer>x</answer> no, <answer>Paris</answer>", 1),
        (r"regex:<answer>(.*?)</answer>", "Paris", "Paris", 0),
        ("number", "1,234.50", "So the total is $1234.5", 1),
        ("number", 30, "First 12, then 30.", 1),
        ("number", 30, "30 and then 31", 0),
        ("number", "-5%", "−5", 1),
        ("number", 3, "none", 0),
        ("number:0.01", 3.14159, "3.14", 1),
        ("number", 3.14159, "3.14", 0),
        ("choice", "refund request", "Refund request.", 1),
        ("choice", "refund", "refund request", 0),
        ("choice", "refund", "I think that the label is: **refund**", 1),
        ("choice", "shipping", "Not a refund.\nAnswer: shipping", 1),
        ("choice", "shipping", "refund or shipping", 0),
        ("choice", "shipping", "harbour", 0),
        ("choice:yes,no", "yes", "Yes!", 1),
        ("json_fields", {"name": "Ada", "year": 1815}, '```json\n{"year": "1815", "name": "ada", "more": 1}\n```', 1),
        ("json_fields", '{"a": [1, {"b": "X"}]}', '{"a": [1.0, {"b": "x "}]}', 1),
        ("json_fields", {"a": None}, "{}", 0),
        ("json_fields:a", {"a": 1, "b": 2}, '{"a": 1, "b": 3}', 1),
        ("json_fields", {"a": 1}, "a is 1", 0),
    ],
)
def test_hard_scores(name: str, answer: JSON, output: str, hard: float) -> None:
    score = grader(name).grade(output, Case(answer, LABELS))
    assert score.hard == hard
    assert score.passed or score.detail["fail_reason"]


@pytest.mark.parametrize("name", [n for n in MEANINGS if n != "judge" and not n.startswith("python")])
def test_an_empty_output_never_passes(name: str) -> None:
    answer: JSON = {"a": 1} if name == "json_fields" else "1"
    assert grader(name).grade(" ", Case(answer)).hard == 0


def test_partial_credit() -> None:
    assert grader("json_fields").grade('{"a": 1, "b": 3}', Case({"a": 1, "b": 2})).soft == 0.5
    assert grader("f1").grade("a red dog", Case("the red fox")).soft == 0.5
    assert 0.8 < grader("anls").grade("Dr. Muller", Case("Dr. Müller")).soft < 1
    assert grader("anls").grade("abcx", Case("zzzx")).soft == 0, "below one half counts as nothing"


def test_edit_distance() -> None:
    assert similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert similarity("", "") == 1.0
    assert similarity("a" * 10, "a" * 100_000) == 0.0, "not even compared"


def test_choice_says_what_was_named() -> None:
    score = grader("choice").grade("refund or shipping", Case("shipping", LABELS))
    assert "several labels" in score.detail["fail_reason"] and "'shipping'" in score.detail["fail_reason"]


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("number", "3,5", "decimals with a point"),
        ("number", "about 3", "not a number"),
        ("choice:yes,no", "maybe", "none of the labels yes, no"),
        ("json_fields", "no object", "not a JSON object"),
        ("json_fields:b", {"a": 1}, "'b'"),
        ("regex", "(", "not a regular expression"),
        ("anls", "x" * 5000, "short answers"),
    ],
)
def test_answers_that_could_never_be_right(name: str, answer: JSON, words: str) -> None:
    assert words in grader(name).complaint(Case(answer))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exat", "did you mean 'exact'"),
        ("f1:2", "from 0 to 1"),
        ("number:x", "number"),
        ("regex:(", "not a regular expression"),
        ("regex:abc", "exactly one group"),
        ("judge:11", "from 0 to 10"),
        ("judge:0", "above 0"),
        ("python:nothing", "module.function"),
        ("python:no_such_module_here.f", "cannot be loaded"),
        ("python:math.nothing", "no function 'nothing'"),
    ],
)
def test_scorers_that_mean_nothing(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check(name)


def test_the_pass_mark_of_a_judge() -> None:
    assert (pass_mark("judge"), pass_mark("judge:9")) == (7.0, 9.0)


def test_functions_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_scorer.py").write_text(
        "def two(output, answer):\n    return output == answer\n"
        "def three(output, answer, row):\n"
        "    return row['weight'] if output == answer else (0, 'other than the answer')\n"
    )
    monkeypatch.chdir(tmp_path)
    case = Case("x", row={"weight": 0.5})
    assert grader("python:my_scorer.two").grade("x", case).hard == 1
    assert grader("python:my_scorer.py:three").grade("x", case).soft == 0.5
    assert grader("python:my_scorer.three").grade("y", case).detail["fail_reason"] == "other than the answer"
    assert found_function("math.isclose") is not None


def test_what_a_function_may_give() -> None:
    assert as_score(True).hard == 1 and as_score(0.4).hard == 0 and as_score(0.4).soft == 0.4
    assert as_score(Score(1.0, 1.0)).hard == 1
    for bad in (2, -0.1, float("nan"), None, "yes"):
        with pytest.raises(ValueError, match="from 0 to 1"):
            as_score(bad)
