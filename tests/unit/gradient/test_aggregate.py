from __future__ import annotations

import asyncio
import json
import re

import pytest

from skillopt.errors import ModelError
from skillopt.gradient.aggregate import Merge
from skillopt.types import Edit, Patch, Reflection


def reflection(source, n, **more):
    edit = Edit("append", f"- {source} {n}", support=(f"{source}{n}",), support_count=1, source_type=source, **more)
    return Reflection(source, edit.support, Patch((edit,), f"because {n}"))


def echo(title, user):
    """Return every edit of the prompt, without its support."""
    rows = [p for block in re.findall(r"_?patch(?:es)?>\n(\[.*?\n?\])\n</", user, re.S) for p in json.loads(block)]
    edits = [{"op": e["op"], "content": e["content"], "target": None} for row in rows for e in row["edits"]]
    return {"reasoning": title, "edits": edits}


async def test_no_patch_and_one_patch_need_no_call(script, context):
    merge = Merge(script.desk)
    assert await merge(context, [Reflection("failure", ("a",), lost="x")]) == Patch(reasoning="no patches")
    one = reflection("success", 1)
    assert await merge(context, [one]) == one.patch
    assert script.calls == []


async def test_levels_sides_and_the_final_merge(script, context):
    script.reply = echo
    found = [reflection("failure", n) for n in range(5)] + [reflection("success", n) for n in range(2)]
    patch = await Merge(script.desk, 2)(context, found)
    assert set(script.records) == {
        "e01s02/aggregate/started",
        "e01s02/merge/failure/1/0",
        "e01s02/merge/failure/1/1",
        "e01s02/merge/failure/2/0",
        "e01s02/merge/failure/3/0",
        "e01s02/merge/success/1/0",
        "e01s02/merge/final",
    }
    assert {e.support for e in patch.edits} == {(f"failure{n}",) for n in range(5)} | {("success0",), ("success1",)}
    levels = {e.content: e.merge_level for e in patch.edits}
    assert levels["- failure 4"] == 3 and levels["- success 0"] == 1
    assert {e.source_type for e in patch.edits} == {"failure", "success"}
    assert patch.reasoning == "Merge editor: final"


async def test_both_sides_run_together(script, context):
    waiting = {"failure": asyncio.Event(), "success": asyncio.Event()}

    async def meet(title, user):
        side = title.removeprefix("Merge editor: ")
        if side in waiting:
            waiting[side].set()
            await asyncio.wait_for(asyncio.gather(*(e.wait() for e in waiting.values())), 1)
        return echo(title, user)

    script.reply = meet
    found = [reflection(side, n) for side in waiting for n in range(2)]
    assert len((await Merge(script.desk)(context, found)).edits) == 4


async def test_an_unusable_merge_is_replaced_by_concatenation_with_the_reason(script, context):
    script.reply = lambda title, user: "prose"
    found = [reflection("failure", n) for n in range(3)] + [reflection("success", 0)]
    patch = await Merge(script.desk)(context, found)
    assert [e.content for e in patch.edits] == ["- failure 0", "- failure 1", "- failure 2", "- success 0"]
    assert patch.reasoning == "fallback: failure first, then success"
    group = script.records["e01s02/merge/failure/1/0"]
    assert (group.fallback, group.patch.reasoning, group.usage.calls) == ("prose", "fallback concatenation", 2)
    assert {e.merge_level for e in group.patch.edits} == {1}


async def merged(script, context, rows, found):
    script.reply = lambda title, user: {"edits": rows}
    return (await Merge(script.desk)(context, found)).edits


async def test_reworded_edits_get_the_support_of_their_target(script, context):
    found = [reflection("failure", n, target="# Skill") for n in range(2)] + [reflection("failure", 2)]
    rows = [
        {"op": "replace", "target": "# Skill", "content": "new words", "support_count": "2"},
        {"op": "append", "content": "other new words"},
        {"op": "append", "content": "named", "support": ["failure2", "ghost"], "support_count": 400},
    ]
    by_target, unknown, named = await merged(script, context, rows, found)
    assert (by_target.support, by_target.support_count) == (("failure0", "failure1"), 2)
    assert (unknown.support, unknown.support_count) == ((), None)
    assert (named.support, named.support_count) == (("failure2",), 3)


async def test_an_empty_merge_is_an_answer(script, context):
    assert await merged(script, context, [], [reflection("failure", n) for n in range(2)]) == ()


async def test_an_error_on_one_side_cancels_the_other(script, context):
    async def reply(title, user):
        if "success" in title:
            raise ModelError("auth", "no")
        await asyncio.Event().wait()

    script.reply = reply
    with pytest.raises(ModelError):
        found = [reflection(side, n) for side in ("failure", "success") for n in range(2)]
        await asyncio.wait_for(Merge(script.desk)(context, found), 1)
    assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []
