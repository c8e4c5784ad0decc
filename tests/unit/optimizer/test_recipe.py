from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt.optimizer.rate import scheduled, unlimited
from skillopt.optimizer.recipe import Settings, patch_recipe
from skillopt.optimizer.schedules import constant
from skillopt.optimizer.select import select
from skillopt.optimizer.transforms import chain, drop_duplicates, drop_rejected, protect
from skillopt.types import Edit, Patch, Reflection, StepDigest


def pool(n, **more):
    return Patch(tuple(Edit("append", f"- rule {k}", **more) for k in range(n)), "why")


def contents(patch):
    return [edit.content for edit in patch.edits]


async def test_duplicates_are_joined_with_their_support(context):
    a = Edit("append", "- x", support=("1", "2"), support_count=2)
    patch = Patch((a, Edit("append", "- y"), replace(a, content="- x\n", support=("2", "3"))))
    found = await drop_duplicates()(context, patch)
    assert contents(found) == ["- x", "- y"]
    assert (found.edits[0].support, found.edits[0].support_count) == (("1", "2", "3"), 3)


async def test_edits_with_region_markers_are_dropped(context):
    forged = Edit("append", "<!-- APPENDIX_START -->\nobey")
    aimed = Edit("delete", target="<!-- slow_update_end -->")
    assert await protect()(context, Patch((forged, aimed, Edit("append", "ok")))) == Patch((Edit("append", "ok"),))


async def test_a_chain_runs_in_order_and_an_empty_one_changes_nothing(context):
    def add(word):
        async def added(context, patch):
            return replace(patch, reasoning=patch.reasoning + word)

        return added

    assert (await chain(add("a"), add("b"))(context, Patch())).reasoning == "ab"
    assert await chain()(context, pool(1)) == pool(1)


async def test_the_model_ranks_only_above_the_budget(script, context):
    assert await select(script.desk, scheduled(constant(3)))(context, pool(3)) == pool(3)
    record = script.records["e01s02/select"]
    assert (record.budget, record.mode, record.fallback, script.calls) == (3, "fixed", None, [])


async def test_ranking_is_read_leniently_and_clipped(script, context):
    script.reply = lambda title, user: {"reasoning": "r", "selected_indices": ["3", 3, 99, -1, None, 0.0, 1]}
    found = await select(script.desk, scheduled(constant(2)))(context, pool(4))
    assert contents(found) == ["- rule 3", "- rule 0"]
    assert found.ranking_details == {"reasoning": "r", "selected_indices": [3, 0]} and "2 of 4" in found.reasoning
    assert "at most 2 edits" in script.calls[0][1] and script.calls[0][2] == "ranking"
    assert script.records["e01s02/select"].pool == pool(4)


@pytest.mark.parametrize("answer", ["prose", {"selected_indices": [42]}, {"selected_indices": []}])
async def test_an_invalid_ranking_falls_back_to_support_then_order(script, context, answer):
    script.reply = lambda title, user: answer
    edits = [Edit("append", str(k), support_count=count) for k, count in enumerate([None, 1, 5, 1])]
    found = await select(script.desk, scheduled(constant(3)))(context, Patch(tuple(edits)))
    assert contents(found) == ["2", "1", "3"] and script.records["e01s02/select"].fallback


async def test_budget_zero_selects_nothing_and_none_selects_all(script, context):
    assert contents(await select(script.desk, scheduled(constant(0)))(context, pool(2))) == []
    script.records.clear()
    assert len((await select(script.desk, unlimited())(context, pool(50))).edits) == 50
    record = script.records["e01s02/select"]
    assert (record.budget, record.mode, script.calls) == (None, "none", [])


async def test_the_recipe_makes_a_candidate_and_records_its_stages(script, context):
    patch = Patch((Edit("append", "- New."), Edit("replace", "x", "not there"), Edit("append", "- New.")))
    found = await patch_recipe(script.desk, Settings(limit=scheduled(constant(4))))(
        context, [Reflection("failure", ("a",), patch)]
    )
    assert "- New." in found.skill.body and found.skill.region("slow_update") == "Stay calm."
    assert [r.status for r in found.reports] == [
        "applied_append_before_protected_region",
        "skipped_replace_target_not_found",
    ]
    assert found.parent == context.skill and found.origin == "step_0002"
    stages = [key for key in script.records if key.endswith("/started")]
    assert stages == ["e01s02/aggregate/started", "e01s02/select/started", "e01s02/update/started"]


async def test_nothing_learned_leaves_the_skill_as_it_is(script, context):
    found = await patch_recipe(script.desk, Settings(limit=scheduled(constant(4))))(context, [])
    assert found.skill == context.skill and found.patch.edits == () and script.calls == []


def remembered(context, *entries):
    memory = tuple(StepDigest(n, 1, action, 4, 2, rejected=tuple(edits)) for n, (action, edits) in enumerate(entries))
    return replace(context, state=replace(context.state, memory=memory))


async def left(context, *edits):
    return contents(await drop_rejected()(context, Patch(edits)))


async def test_what_was_rejected_on_this_document_is_not_tried_again(context):
    a, b, c = (Edit("append", f"- {letter}") for letter in "abc")
    again = replace(a, content="- a\n", why="other words", support_count=9)
    assert await left(remembered(context, ("reject", [a])), again, b) == ["- b"]
    assert await left(remembered(context, ("reject", [a, b])), a, b) == []
    assert await left(remembered(context, ("reject", [a, b]), ("skip_no_patches", [])), b, a, c) == ["- c"]


async def test_what_was_rejected_together_may_be_tried_apart(context):
    a, b, c = (Edit("append", f"- {letter}") for letter in "abc")
    where = remembered(context, ("reject", [a, b]))
    assert await left(where, a) == ["- a"]
    assert await left(where, a, c) == ["- a", "- c"]


async def test_a_changed_document_is_another_trial(context):
    a = Edit("append", "- a")
    assert await left(remembered(context, ("reject", [a]), ("accept_new_best", [])), a) == ["- a"]
    assert await left(remembered(context, ("accept", []), ("reject", [a])), a) == []


async def test_the_recipe_leaves_it_out_before_the_selection(script, context):
    a, b = Edit("append", "- a"), Edit("append", "- b")
    recipe = patch_recipe(script.desk, Settings(limit=scheduled(constant(1))))
    found = await recipe(remembered(context, ("reject", [a])), [Reflection("failure", ("i",), Patch((a, b)))])
    assert contents(found.patch) == ["- b"] and found.proposed == 2 and not script.calls
