"""The table of answers: what is the same, what is not, and how near a wrong one is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from skillopt.envs.officeqa.numbers import Quantity, quantity
from skillopt.envs.officeqa.reference import exact, first_tagged, last_tagged, normalised, token_f1
from skillopt.envs.officeqa.scoring import compared

RIGHT = [
    ("11.6", "11.60"), ("11.60", "11.6"), ("2602", "2,602"), ("2,602", "2602"), ("+5", "5"), ("-0", "0"),
    ("11.604", "11.60"), ("11.595", "11.60"), ("0.90054401", "0.900544"), (".5", "0.5"), ("5.", "5"), ("5.0", "5"),
    ("−3.524", "-3.524"), ("–3.524", "−3.524"), ("- 3.524", "-3.524"), ("(5)", "-5"), ("( 1,234.5 )", "-1234.5"),
    ("$(5.0) million", "-5 million"), ("(5)%", "-5%"), ("-$5", "-5"), ("$-5", "-5"), ("US$ 5", "$5"), ("5 USD", "5"),
    ("12 %", "12%"), ("12%", "12"), ("12", "12%"), ("12 percent", "12%"), ("12 per cent", "12 %"), ("12\\%", "12%"),
    ("507 million", "507"), ("507", "507 million"), ("507,000,000", "507 million"), ("507 million", "507000000"),
    ("0.507 billion", "507 million"), ("507 millions of nominal dollars", "507 million dollars"),
    ("140.9B", "$140.9 Billion"),
    ("997,312 million", "997.3 billion"), ("1.5 trillion", "1,500 billion"), ("2 thousand", "2,000"), ("1.2e3", "1200"),
    ("**1,234**", "1234"), ('"5"', "5"), ("５", "5"), ("5\u00a0000".replace("\u00a0", ""), "5000"),
    ("[0.096, -184.143]", "[0.096, −184.143]"), ("0.096, -184.143", "[0.096, −184.143]"),
    ("[44.00, 231.52]", "[44.00,231.52]"),
    ("8.124 and 12.852", "[8.124, 12.852]"), ("(8.124, 12.852)", "[8.124, 12.852]"), ("[100,200]", "[100, 200]"),
    ("374443, 381327", "[374,443, 381,327]"), ("[374,443; 381,327]", "374,443, 381,327"), ("[5]", "5"),
    ("0.012, Surplus", "[0.012, surplus]"), ("[2.59%, 2.34%, decreased]", "[2.59%, 2.34%, Decreased]"),
    ("march 3 1977", "March 3, 1977"), ("March 3, 1977.", "March 3, 1977"), ("The August 1986", "August 1986"),
]  # fmt: skip
WRONG = [
    ("507 billion", "507 million"), ("507", "507,000,000"), ("12 million", "12%"), ("$12", "12%"), ("€5", "$5"),
    ("0.12", "12%"), ("5", "-5"), ("(5)", "5"), ("-(5)", "-5"), ("11.7", "11.60"), ("11.606", "11.60"),
    ("11.59", "11.60"),
    ("2602.4", "2,602"), ("1990.4", "1990"), ("1990s", "1990"), ("2010-2015", "2010"), ("5 or 6", "5"),
    ("12 million %", "12%"),
    ("[5, 6]", "5"), ("5, 6", "5"), ("1,23", "123"), ("12,345,6", "123456"), ("March 3, 1976", "March 3, 1977"),
    ("1977-03-03", "March 3, 1977"), ("1977", "March 3, 1977"), ("the answer is 5", "5"), ("", "5"), (" ", "5"),
    ("-", "0"),
    (".", "0"), ("%", "0"), ("million", "1000000"), ("nan", "0"), ("inf", "0"), ("1_000", "1000"), ("[2, 1]", "[1, 2]"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "gold"), RIGHT)
def test_the_same(said: str, gold: str) -> None:
    assert (match := compared(said, gold)).hard == match.soft == 1.0


@pytest.mark.parametrize(("said", "gold"), WRONG)
def test_not_the_same(said: str, gold: str) -> None:
    match = compared(said, gold)
    assert match.hard == 0.0 and match.soft < 1.0


@pytest.mark.parametrize(
    ("said", "gold", "soft"),
    [
        ("[1, 9, 3]", "[1, 2, 3]", 2 / 3),
        ("[1, 2]", "[1, 2, 3]", 2 / 3),
        ("[1, 2, 3, 4]", "[1, 2, 3]", 3 / 4),
        ("[3, 1]", "[1, 3]", 0.0),
        ("0.012", "[0.012, surplus]", 0.5),
        ("[0.012, deficit]", "[0.012, surplus]", 0.5),
        ("March 1977", "March 3, 1977", 4 / 5),
        ("3 march 1977", "March 3, 1977", 0.99),
        ("7", "8", 0.0),
    ],
)
def test_partial_credit(said: str, gold: str, soft: float) -> None:
    match = compared(said, gold)
    assert (match.hard, match.soft) == (0.0, pytest.approx(soft))


@pytest.mark.parametrize(
    ("said", "gold", "tolerance", "hard"),
    [
        ("101", "100", 0.01, 1),
        ("101.1", "100", 0.01, 0),
        ("-101", "100", 0.01, 0),
        ("0", "0", 0.05, 1),
        ("99", "100", 0.0, 0),
    ],
)
def test_tolerance_is_relative(said: str, gold: str, tolerance: float, hard: int) -> None:
    assert compared(said, gold, tolerance).hard == hard


@pytest.mark.parametrize(
    ("said", "gold", "note"),
    [
        ("-5", "5", "sign"), ("0.1234", "12.34%", "factor of 100"), ("507 billion", "507 million", "factor of 1,000"),
        ("12 million", "12%", "unit"), ("101", "100.5", "within 1 %"), ("[1]", "[1, 2]", "1 members where 2"),
        ("about five", "5", "not one number"), ("7", "80", ""),
    ],
)  # fmt: skip
def test_a_wrong_answer_says_what_separates_it(said: str, gold: str, note: str) -> None:
    assert note in compared(said, gold).note


def test_what_a_quantity_is_made_of() -> None:
    assert quantity("$ -1,667.86 millions") == Quantity(Fraction("-1667.86"), 2, 10**6, "dollar")
    assert quantity("9" * 5000) is None and quantity("March 3, 1977") is None and quantity("$") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$1,234.50 Million", "1234.50"), ("507 billion", "507"), ("  Nominal   DOLLARS ", ""), ("(5)", "5"),
        ("12 %", "12 %"),
        ("−5", "−5"), ("-5", "-5"), ("[1.5, 2.5]", "1.5 2.5"), ("March 3, 1977", "march 3 1977"), ("a_b/c", "abc"),
        ("millionaire", "millionaire"), ("1608.80%", "1608.80%"),
    ],
)  # fmt: skip
def test_the_reference_normalises(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("said", "gold", "em", "f1"),
    [
        ("507 billion", "507 million", True, 1.0), ("11.6", "11.60", False, 0.0), ("-3", "−3", False, 0.0),
        ("(5)", "5", True, 1.0),
        ("12 %", "12", False, 2 / 3), ("2,602", "2602", True, 1.0), ("a b", "b c", False, 0.5),
        ("dollars", "million", True, 1.0),
        ("", "5", False, 0.0),
    ],
)  # fmt: skip
def test_the_reference_compares_texts(said: str, gold: str, em: bool, f1: float) -> None:
    assert exact(said, gold) is em and token_f1(said, gold) == pytest.approx(f1)


def test_which_pair_of_tags_counts() -> None:
    reply = "<answer>1</answer> or rather <ANSWER>\n2 </answer>"
    assert (first_tagged(reply), last_tagged(reply)) == ("1", "2")
    assert first_tagged("1") is None and last_tagged("<answer>1") is None and last_tagged("<answer></answer>") == ""
