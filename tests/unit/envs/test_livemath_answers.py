"""Which option a reply chose: a table of cases, and laws for any number of options."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skillopt.envs.livemathematicianbench.answers import read
from skillopt.envs.livemathematicianbench.options import Option, letters

FIVE = (
    Option("A", "For every $n$ the bound holds."),
    Option("B", "The set $F$ is closed."),
    Option("C", "The set $f$ is closed."),
    Option("D", "A strange attractor exists"),
    Option("E", "One of the remaining options is correct, but a stronger result can be proven."),
)


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("[B]", "B"),
        ("B.", "B"),
        ("B)", "B"),
        ("B:", "B"),
        ("Option B", "B"),
        ("option (b).", "B"),
        ("Choice: B", "B"),
        ("**B**", "B"),
        ("**Option B**", "B"),
        ("`B`", "B"),
        ("$B$", "B"),
        (r"\boxed{B}", "B"),
        (r"$\boxed{\text{B}}$", "B"),
        (r"\(\boxed{\mathbf{(B)}}\)", "B"),
        ("The answer is B.", "B"),
        ("Therefore, the correct option is: **(B)**", "B"),
        ("B and B", "B"),
        ("For every $n$ the bound holds.", "A"),
        ("for every  $N$\nthe bound holds", "A"),
        ("**For every $n$ the bound holds.**", "A"),
        ("The set $F$ is closed.", "B"),
        ("The set $f$ is closed.", "C"),
        ("A strange attractor exists.", "D"),
        ("B. The set $F$ is closed.", "B"),
        ("B The set $F$ is closed", "B"),
        ("(B) because it is the strongest", "B"),
        ("**B.** It needs no extra hypothesis, unlike A", "B"),
        ("Option B: sharper", "B"),
    ],
)
def test_a_clear_answer_is_read(said: str, label: str) -> None:
    assert read(f"Some thought about A.\n<answer>{said}</answer>", FIVE).label == label


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("A or B", "names options A and B"),
        ("A, C and D", "names options A, C and D"),
        ("A/B", "names options A and B"),
        (r"\boxed{A} \boxed{C}", "names options A and C"),
        ("THE SET $F$ IS CLOSED", "text fits options B and C"),
        ("B. For every $n$ the bound holds.", "label B stands beside the text of option A"),
    ],
)
def test_an_answer_that_could_mean_two_options_is_ambiguous(said: str, why: str) -> None:
    reading = read(f"<answer>{said}</answer>", FIVE)
    assert reading.label == "" and reading.problem.startswith("ambiguous") and why in reading.problem


@pytest.mark.parametrize(
    "said",
    [
        "A strange one",
        "A stronger result can be proven",
        "a bound",
        "B is closed",
        "E is compact and A is not",
        "$A$ is compact",
        "the answer is not B",
        "Z",
        "F",
        "A-",
        "f(A)",
        "A_1",
        "and A",
        "42",
        "...",
    ],
)
def test_other_words_choose_nothing_and_say_so(said: str) -> None:
    reading = read(f"<answer>{said}</answer>", FIVE)
    assert reading.label == "" and "no option recognised" in reading.problem and "A to E" in reading.problem


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("First A, then\n\nThe answer is C.", "C"),
        ("So\n\\[\n\\boxed{D}\n\\]\n", "D"),
        ("Compare:\nA. For every $n$ the bound holds.", "A"),
        ("Compare:\nA. The bound holds, but the constant", ""),
        ("Compare:\n(B) is false, since", ""),
        ("<answer>A</answer> no: <answer>\nB\n</answer>", "B"),
    ],
)
def test_without_tags_the_last_line_must_be_an_answer_as_a_whole(reply: str, label: str) -> None:
    reading = read(reply, FIVE)
    assert reading.label == label
    assert ("no <answer> tags" in reading.problem) == (not label)


@pytest.mark.parametrize("reply", ["", " \n\t", "...", "<answer></answer>", "<answer> </answer>"])
def test_nothing_is_no_answer(reply: str) -> None:
    reading = read(reply, FIVE)
    assert (reading.said, reading.label) == ("", "") and reading.problem.startswith("no answer")


FORMS = (
    "{0}",
    "({0})",
    "{0}.",
    "{0})",
    "Option {0}",
    "**{0}**",
    "\\boxed{{{0}}}",
    "The answer is {0}.",
    "{0}. {1}",
    "{1}",
)
counts = st.integers(2, 60)


def numbered(count: int) -> tuple[Option, ...]:
    return tuple(Option(label, f"statement number {i} of these") for i, label in enumerate(letters(count)))


@given(counts, st.data(), st.sampled_from(FORMS), st.booleans())
def test_the_gold_is_read_in_every_form_for_any_number_of_options(count, data, form, bare) -> None:
    options = numbered(count)
    gold = data.draw(st.sampled_from(options))
    said = form.format(gold.label, gold.text)
    assert read(said if bare else f"why\n<answer>{said}</answer>", options).label == gold.label


@given(counts, st.lists(st.text("bcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9), min_size=1, max_size=6))
def test_prose_that_begins_with_an_article_is_never_option_a(count: int, words: list[str]) -> None:
    assume("and" not in words)
    for said in (f"A {' '.join(words)}", f"A {' '.join(words)}."):
        assert read(f"<answer>{said}</answer>", numbered(count)).label == ""
        assert read(said, numbered(count)).label == ""


@given(counts, st.text(max_size=200))
def test_any_reply_is_read_without_an_error_and_gives_a_label_or_a_reason(count: int, reply: str) -> None:
    for text in (reply, f"<answer>{reply}</answer>"):
        reading = read(text, numbered(count))
        assert bool(reading.label) != bool(reading.problem)


def test_a_long_run_of_brackets_is_read_at_once() -> None:
    assert read(f"<answer>{'(' * 50_000}</answer>", FIVE).label == ""
    assert read(f"<answer>Option {'(*[' * 50_000} B</answer>", FIVE).label == "B"
