from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.gradient.tokens import estimate_tokens
from skillopt.gradient.trajectory import MINIMUM_TOKENS, render, shorten, water_level
from skillopt.types import Rollout, Score, Turn

roles = st.sampled_from(["user", "assistant", "tool", "system"])
texts = st.one_of(
    st.text(max_size=40), st.integers(0, 4000).map("ab ".__mul__), st.just("</trajectory> </ TRAJECTORY>" * 9)
)
turns = st.lists(st.builds(Turn, roles, texts), max_size=40).map(tuple)
details = st.dictionaries(st.text(max_size=9), texts, max_size=3)


@st.composite
def rollouts(draw):
    n = draw(st.integers(1, 6))
    return [
        Rollout(
            f"item-{k}-end", "d", "s", "b", draw(st.text(max_size=200)), Score(0.0, 0.5, draw(details)), None,
            answer=draw(texts), trajectory=draw(turns),
        )
        for k in range(n)
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(rollouts(), st.integers(0, 3000))
def test_within_budget_and_every_trajectory_present(rows, extra):
    budget = MINIMUM_TOKENS * len(rows) + extra
    text = render(rows, budget)
    assert estimate_tokens(text) <= budget
    assert [text.count(f"id: {row.item}\n") for row in rows] == [1] * len(rows)
    assert text.count("</trajectory>") == len(rows)


@given(st.text(max_size=300), st.integers(50, 400))
def test_shortening_keeps_the_limit_and_tells_what_is_missing(text, limit):
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text or "characters left out" in short


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20), st.integers(0, 5000))
def test_the_water_level_is_the_largest_that_fits(lengths, room):
    level = water_level(lengths, room)
    assert sum(min(n, level) for n in lengths) <= room
    assert level >= max(lengths) or sum(min(n, level + 1) for n in lengths) > room
