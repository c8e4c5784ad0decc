from __future__ import annotations

from dataclasses import replace

from skillopt.optimizer.memory import digest_of_step, render_memory
from skillopt.types import Edit, Failure, Patch, Pattern, Reflection, Rollout


def digest(context, rollouts, reflections=(), action="reject", **more):
    patch = Patch((Edit("append", "- Hurry."),))
    return digest_of_step(context, action=action, rollouts=rollouts, reflections=reflections, patch=patch, **more)


def test_patterns_keep_the_items_of_their_own_groups(context, rollout):
    first = Reflection("failure", ("a", "b"), patterns=(Pattern("Unit", "no unit", 1, ("a",)),))
    second = Reflection("failure", ("c",), patterns=(Pattern("late", "", 1, ("c",)), Pattern("unit", "", 1, ("c",))))
    praise = Reflection("success", ("d",), patterns=(Pattern("reads", "", 1, ("d",)),))
    rows = [*(rollout(i) for i in "abc"), rollout("d", 1.0)]
    found = digest(context, rows, [first, praise, second])
    assert [(p.name, p.count, p.items) for p in found.patterns] == [("Unit", 2, ("a", "c")), ("late", 1, ("c",))]
    assert (found.total, found.failed, found.step, found.epoch) == (4, 3, 2, 1)


def test_without_analysts_the_reasons_of_the_grader_are_grouped(context, rollout):
    lost = Reflection("failure", ("a", "b", "c"), lost="unusable")
    rows = [rollout("a", fail_reason="type: x"), rollout("b", fail_reason="type: y"), rollout("c")]
    missing = Rollout("m", "d", "s", "b", "qa", None, Failure("timeout", "t"))
    found = digest(context, [*rows, missing], [lost])
    assert [(p.name, p.items) for p in found.patterns] == [("type", ("a", "b")), ("unknown", ("c",))]
    assert found.total == 3


def test_only_a_rejected_step_remembers_its_edits(context, rollout):
    kept = digest(context, [rollout("a")], action="accept", score_before=0.4, score_after=0.5)
    assert kept.rejected == ()
    rejected = digest(context, [rollout("a", fail_reason="slow")], score_before=0.5, score_after=0.0)
    text = render_memory([kept, rejected])
    assert "### Step 2: REJECT (1 of 1 attempts failed)" in text and "- slow (x1; tasks a)" in text
    assert "0.5000 before, 0.0000 with it" in text and "1. append: - Hurry." in text
    assert text.count("Hurry") == 1


def test_nothing_to_remember_is_an_empty_text():
    assert render_memory(()) == ""


def test_a_long_memory_keeps_the_newest_steps_and_says_so(context, rollout):
    entries = [replace(digest(context, [rollout("a")]), step=step) for step in range(1, 200)]
    text = render_memory(entries, 500)
    assert len(text) <= 2100 and "Step 199:" in text and "Step 1:" not in text
    shown = text.count("### Step")
    assert f"[... {199 - shown} earlier steps left out ...]" in text
