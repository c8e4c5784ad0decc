"""Laws of the scorer and of the tools: whatever is written or asked, the answer stays in its bounds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillopt.envs.officeqa.corpus import Corpus
from skillopt.envs.officeqa.numbers import agree, quantity
from skillopt.envs.officeqa.reference import exact, token_f1
from skillopt.envs.officeqa.scoring import compared
from skillopt.envs.officeqa.tools import MOST_CHARACTERS, CorpusTools

decimals = st.decimals(min_value=-(10**9), max_value=10**9, allow_nan=False, places=3)
texts = st.text(max_size=60) | st.text(alphabet="0123456789.,-−()[]$% mbillion", max_size=30)


@given(decimals)
def test_every_spelling_of_a_number_is_the_number(value) -> None:
    plain = f"{value:f}"
    size = plain.lstrip("-")
    spellings = [f"{value:,}", f"$ {plain}", f"[{plain}]", f"**{plain}**", plain + "000", plain.replace("-", "−")]
    if plain.startswith("-"):
        spellings += [f"({size})", f"(${size})", f"$({size})"]
    for said in spellings:
        assert compared(said, plain).hard == 1.0, said


@given(decimals, decimals)
def test_different_numbers_are_never_the_same(first, second) -> None:
    assert compared(f"{first:f}", f"{second:f}").hard == float(first == second)


@given(st.integers(1, 10**6), st.sampled_from(["thousand", "million", "billion", "trillion"]))
def test_units_that_are_both_written_must_agree(value: int, unit: str) -> None:
    for other in ("thousand", "million", "billion", "trillion"):
        assert compared(f"{value} {other}", f"{value} {unit}").hard == float(other == unit)


@given(st.lists(decimals, min_size=2, max_size=5), st.randoms())
def test_a_list_counts_by_its_members_in_order(values, random) -> None:
    gold = "[" + ", ".join(f"{v:f}" for v in values) + "]"
    assert compared(", ".join(f"{v:,}" for v in values), gold).hard == 1.0
    shuffled = random.sample(values, len(values))
    match = compared("[" + ", ".join(f"{v:f}" for v in shuffled) + "]", gold)
    assert match.soft == pytest.approx(sum(a == b for a, b in zip(shuffled, values, strict=True)) / len(values))


@given(texts, texts)
def test_any_two_texts_can_be_compared(said: str, gold: str) -> None:
    match = compared(said, gold)
    assert match.hard in (0.0, 1.0) and 0.0 <= match.soft <= 1.0 and (match.hard == 1.0) == (match.soft == 1.0)
    assert 0.0 <= token_f1(said, gold) <= 1.0 and exact(gold, gold)
    if gold.strip():
        assert compared(gold, gold).hard == 1.0


@given(texts)
def test_a_quantity_agrees_with_itself(text: str) -> None:
    if (found := quantity(text)) is not None:
        assert agree(found, found)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> CorpusTools:
    home: Path = tmp_path_factory.mktemp("corpus")
    (home / "secret.txt").write_text("hidden gold")
    docs = home / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "a.txt").write_text("alpha\n" * 3000)
    (docs / "sub" / "b.md").write_text("beta " * 3000)
    (docs / "out.txt").symlink_to(home / "secret.txt")
    (docs / "up").symlink_to(home, target_is_directory=True)
    return CorpusTools(Corpus((str(docs),), home / "cache"))


parts = st.sampled_from(["..", ".", "up", "sub", "secret.txt", "out.txt", "a.txt", "b.md", "*", "**", "~", "", "docs"])
paths = st.lists(parts, max_size=6).map("/".join) | st.text(max_size=30)
values = paths | st.none() | st.integers() | st.floats() | st.booleans() | st.lists(st.integers(), max_size=2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    name=st.sampled_from(["glob", "read", "grep"]),
    arguments=st.fixed_dictionaries({}, optional=dict.fromkeys(("path", "pattern", "start", "limit"), values)),
)
def test_no_call_raises_overflows_or_leaves_the_corpus(box: CorpusTools, name: str, arguments: dict) -> None:
    answer = asyncio.run(box.call(name, arguments))
    assert len(answer) <= MOST_CHARACTERS and "hidden gold" not in answer
