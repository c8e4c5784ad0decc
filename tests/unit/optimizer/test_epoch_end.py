from __future__ import annotations

import pytest

from skillopt.gradient.tokens import estimate_tokens
from skillopt.optimizer.comparison import compare, comparison_text, keep
from skillopt.optimizer.meta_skill import write_memory
from skillopt.optimizer.slow_update import write_guidance
from skillopt.skill.document import Skill
from skillopt.types import Failure, Item, Rollout

ITEMS = [Item.make(i, "train", "qa", {"question": f"q {i}"} if i != "d" else {}) for i in "abcdef"]
PREV = Skill.parse("# Old\n")
CURR = Skill.parse("# New\n").with_region("slow_update", "Stay calm.")


@pytest.fixture
def sides(rollout):
    missing = Rollout("e", "d", "s", "b", "qa", None, Failure("timeout", "t"))
    prev = {i: rollout(i, h, text=f"prev {i}") for i, h in zip("abcd", (1.0, 0.0, 0.0, 1.0), strict=True)}
    curr = {i: rollout(i, h, text=f"curr {i}") for i, h in zip("abcd", (0.0, 0.0, 1.0, 1.0), strict=True)}
    return prev | {"e": missing}, curr | {"e": rollout("e", 1.0), "f": rollout("f", 1.0)}


def test_pairs_leave_out_what_is_missing_on_one_side(sides):
    pairs = compare(ITEMS, *sides)
    assert [(p.id, p.category) for p in pairs] == [
        ("a", "regressed"),
        ("b", "persistent_fail"),
        ("c", "improved"),
        ("d", "stable_success"),
    ]
    assert pairs[0].task == "q a" and pairs[3].task == "d"
    assert pairs[0].prev == {"hard": 1, "soft": 1.0, "predicted_answer": "x", "fail_reason": ""}
    assert [p.id for p in keep(pairs, "changed")] == ["a", "c"]
    assert [p.id for p in keep(pairs, "unchanged")] == ["b", "d"]
    assert keep(pairs, "mixed") == pairs


def test_the_comparison_shows_trajectories_where_something_can_be_learned(sides):
    text = comparison_text(compare(ITEMS, *sides), *sides, 4000)
    headings = [line[4:] for line in text.splitlines() if line.startswith("### ")]
    assert headings == ["regressed", "persistent_fail", "improved", "stable_success"]
    assert "prev a" in text and "curr c" in text and "Task d" in text and "prev d" not in text


def test_the_comparison_keeps_its_budget(sides, rollout):
    prev, curr = ({i: rollout(i, 0.0, text="long " * 9000) for i in "abcdef"} for _ in range(2))
    text = comparison_text(compare(ITEMS, prev, curr), prev, curr, 4000)
    assert 3000 < estimate_tokens(text) <= 4000
    assert all(f"Task {i}:" in text for i in "abcdef")


async def guidance(script, sides, pairs):
    return await write_guidance(
        script.desk, epoch=2, prev_skill=PREV, curr_skill=CURR, pairs=pairs, prev=sides[0], curr=sides[1]
    )


async def memory(script, sides, pairs):
    return await write_memory(
        script.desk,
        epoch=2,
        prev_skill=PREV,
        curr_skill=CURR,
        pairs=pairs,
        prev=sides[0],
        curr=sides[1],
        previous="old",
    )


async def test_guidance_is_written_once_without_markers(script, sides):
    content = "<!-- SLOW_UPDATE_END -->- Plan first.\n"
    script.reply = lambda title, user: {"reasoning": "r", "slow_update_content": content}
    pairs = compare(ITEMS, *sides)
    found = await guidance(script, sides, pairs)
    assert (found.content, found.reasoning, found.pairs) == ("- Plan first.", "r", pairs)
    assert (found.prev_hard, found.curr_hard) == (0.5, 0.5)
    assert script.records == {"slow/e02/guidance": found} and script.calls[0][2] == "slow_update"
    assert "<previous_guidance>\nStay calm." in script.calls[0][1]
    assert await guidance(script, sides, pairs) == found and len(script.calls) == 1


async def test_memory_is_written_from_the_previous_one(script, sides):
    script.reply = lambda title, user: {"reasoning": "r", "meta_skill_content": " - Short rules help. "}
    found = await memory(script, sides, compare(ITEMS, *sides))
    assert (found.content, found.epoch, found.lost) == ("- Short rules help.", 2, None)
    assert script.records == {"meta/e02": found} and "<previous_memory>\nold" in script.calls[0][1]


@pytest.mark.parametrize("write", [guidance, memory])
async def test_an_unusable_answer_is_lost_and_nothing_to_compare_costs_nothing(script, sides, write):
    script.reply = lambda title, user: "prose"
    found = await write(script, sides, compare(ITEMS, *sides))
    assert (found.content, found.lost, found.usage.calls) == ("", "prose", 2)
    script.records.clear()
    found = await write(script, sides, ())
    assert (found.content, found.lost, len(script.calls)) == ("", None, 1)
