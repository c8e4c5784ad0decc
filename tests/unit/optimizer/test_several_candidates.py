"""One pool, several patches; and the parts of a patch that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt.optimizer.rate import scheduled
from skillopt.optimizer.recipe import Settings, patch_recipe
from skillopt.optimizer.schedules import constant
from skillopt.optimizer.transforms import drop_rejected
from skillopt.types import Edit, Patch, Reflection, StepDigest


def rules(n):
    return tuple(Edit("append", f"- rule {k}") for k in range(n))


def reflection(edits, notes=()):
    return Reflection("failure", ("a",), Patch(tuple(edits), notes=tuple(notes)))


def contents(candidate):
    return [edit.content for edit in candidate.patch.edits]


async def test_a_pool_is_dealt_into_bounded_patches(script, context):
    settings = Settings(limit=scheduled(constant(2)), candidates=3)
    script.reply = lambda title, user: {"selected_indices": [4, 3, 2, 1, 0, 6]}
    found = await patch_recipe(script.desk, settings)(context, [reflection(rules(7), notes=["Mind units."])])
    assert "at most 6 edits" in script.calls[0][1]
    assert [contents(c) for c in (found, *found.rivals)] == [
        ["- rule 4", "- rule 1"],
        ["- rule 3", "- rule 0"],
        ["- rule 2", "- rule 6"],
    ]
    assert all(c.parent == context.skill and c.skill != context.skill for c in (found, *found.rivals))
    assert [bool(c.patch.notes) for c in (found, *found.rivals)] == [True, False, False]


async def test_a_small_pool_makes_fewer_candidates(script, context):
    settings = Settings(limit=scheduled(constant(4)), candidates=4)
    found = await patch_recipe(script.desk, settings)(context, [reflection(rules(2))])
    assert [contents(c) for c in (found, *found.rivals)] == [["- rule 0"], ["- rule 1"]]
    alone = await patch_recipe(script.desk, Settings())(replace(context, at="e01s03"), [reflection(rules(2))])
    assert alone.rivals == () and contents(alone) == ["- rule 0", "- rule 1"]


@pytest.mark.parametrize(("most", "sizes"), [(0, []), (1, []), (2, [2, 1]), (3, [1, 1, 1]), (9, [1, 1, 1])])
async def test_the_parts_of_a_patch_are_candidates_of_their_own(script, context, most, sizes):
    edits = (*rules(3), Edit("replace", "x", "not there"))
    whole = await patch_recipe(script.desk, Settings())(context, [reflection(edits)])
    parts = whole.parts(most)
    assert [len(p.patch.edits) for p in parts] == sizes
    assert len({p.skill.digest for p in (*parts, whole)}) == len(sizes) + 1
    assert all(p.parent == whole.parent for p in parts) and not any(p.parts(5) for p in parts if len(p.reports) == 1)


async def test_what_was_rejected_alone_is_not_proposed_again(context):
    both = StepDigest(1, 1, "reject", 4, 4, rejected=rules(3), also_rejected=(rules(1), rules(2)[1:]))
    again = replace(context, state=replace(context.state, memory=(both,)))
    found = await drop_rejected()(again, Patch((*rules(2), Edit("append", "- new"))))
    assert [edit.content for edit in found.edits] == ["- new"]
