from __future__ import annotations

from functools import cache
from random import Random

import pytest

from skillopt.envs.docvqa.golds import golds
from skillopt.envs.docvqa.scoring import extracted, nearest, tagged

LONG = "a" * 1000


@pytest.mark.parametrize(
    ("said", "expected", "anls"),
    [
        ("hello world", ["hello world"], 1.0),
        ("  HELLO \n World ", ["hello world"], 1.0),
        ("hello wrld", ["hello world"], 1 - 1 / 11),
        ("kitten", ["sitting"], 1 - 3 / 7),
        ("abc", ["abd"], 1 - 1 / 3),
        ("ab", ["ac"], 0.0),  # NL is exactly one half
        ("abcd", ["abxy"], 0.0),
        ("abcde", ["abcxy"], 1 - 2 / 5),
        ("ab", ["abcd"], 0.0),
        ("abc", ["abcde"], 1 - 2 / 5),
        ("$1,234", ["1,234"], 1 - 1 / 6),  # punctuation counts
        ("9 %", ["9%"], 1 - 1 / 3),
        ("9%", ["9 %", "9", "9%"], 1.0),
        ("EUR 5", ["5"], 0.0),
        ("cat", ["dog", "cut", "cats"], 1 - 1 / 4),
        ("Straße", ["STRASSE"], 1 - 2 / 7),  # lower case, not case folding
        ("", ["x"], 0.0),
        ("x", [""], 0.0),
        ("", [""], 1.0),
        (LONG[:-1] + "b", [LONG], 1 - 1 / 1000),
    ],
)
def test_anls_by_hand(said: str, expected: list[str], anls: float) -> None:
    assert nearest(said, expected).anls == pytest.approx(anls, abs=1e-12)


def test_the_nearest_answer_is_named() -> None:
    assert nearest("cat", ["dog", "cats", "cuts"]).gold == "cats"
    assert nearest("zzz", ["dog", "cats"]).gold == "dog"


def test_anls_agrees_with_its_definition() -> None:
    @cache
    def distance(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))

    random = Random(1)
    for _ in range(300):
        a, b = ("".join(random.choices("abc", k=random.randrange(7))) for _ in range(2))
        far = distance(a, b) / max(len(a), len(b), 1)
        assert nearest(a, [b]).anls == pytest.approx(0.0 if far >= 0.5 else 1 - far)


@pytest.mark.parametrize(
    ("reply", "answer", "inside"),
    [
        ("so <answer>one</answer> no, <ANSWER>\ntwo\n</ANSWER> done", "two", True),
        ("<answer>one <answer>two</answer>", "two", True),
        ("<answer>one</answer> or\nrather <answer>two", "rather <answer>two", False),
        ("thinking\nthe last line\n\n", "the last line", False),
        ("</answer>x<answer>", "</answer>x<answer>", False),
        ("<answer></answer>", "", True),
        (" \n ", "", False),
    ],
)
def test_the_answer_is_found_in_a_reply(reply: str, answer: str, inside: bool) -> None:
    assert (extracted(reply), tagged(reply)) == (answer, inside)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2.3", ("2.3",)),
        ("['Mon', '4']", ("Mon", "4")),
        ("""["As competitor's joined"]""", ("As competitor's joined",)),
        ('["a", "b", "a"]', ("a", "b")),
        (["x", "y"], ("x", "y")),
        (7, ("7",)),
        ([1.5, None, "b"], ("1.5", "b")),
        ([["a"], ["b", "c"]], ("a", "b", "c")),
        ('{"answers": ["a", {"text": "b"}]}', ("a", "b")),
        ({"ground_truth": "['p', 'q']"}, ("p", "q")),
        ([{"value": "v"}, {"answer": "w"}], ("v", "w")),
        ({"text": ["s", "t"], "answer_start": [3, 9]}, ("s", "t")),
        ("[illegible]", ("[illegible]",)),
        (r"['C:\dir']", (r"C:\dir",)),
        ("{not, a list", ("{not, a list",)),
        ([""], ("",)),
        ("[" * 5000, ("[" * 5000,)),
    ],
)
def test_expected_answers_in_their_many_forms(value: object, expected: tuple[str, ...]) -> None:
    assert golds(value) == expected


@pytest.mark.parametrize("value", [None, [], "[]", {}, "{}", [None], {"other": 1}, float("nan"), [[]], True])
def test_no_expected_answer_is_an_error(value: object) -> None:
    with pytest.raises(ValueError, match="no expected answer"):
        golds(value)


def test_a_list_without_commas_is_not_read_as_one_answer() -> None:
    with pytest.raises(ValueError, match="no commas"):
        golds("['Mon' '4']")
    with pytest.raises(ValueError, match="no commas"):
        golds("['a long one'\n 'and another']")
