from __future__ import annotations

from skillopt.gradient.trajectory import render


def test_a_small_group_is_shown_whole(rollout):
    text = render([rollout("a", fail_reason="late", gold=["x"], empty=None)], 1000)
    assert text == (
        "<trajectory>\nid: a\ntask type: qa\nscore: hard 0, soft 0\nturns: 1\n\n"
        '[score details]\n- fail_reason: late\n- gold: ["x"]\n\n'
        "[user] task\n\n[assistant] hello\n\n[final answer] x\n</trajectory>"
    )


def test_only_the_longest_part_is_shortened(rollout):
    text = render([rollout("a", text="begin " + "y" * 9000 + " end"), rollout("b", text="z" * 300)], 500)
    assert "z" * 300 in text and "begin" in text and " end" in text
    assert "characters left out" in text and len(text) <= 2000
