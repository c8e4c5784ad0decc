"""Front matter, export, and diffs."""

from __future__ import annotations

import pytest

from skillopt.errors import SkillFileError
from skillopt.skill.diff import unified, word_diff
from skillopt.skill.document import Skill
from skillopt.skill.package import export, split_front_matter


@pytest.mark.parametrize(
    "text",
    [
        "# A",
        "---\nprose\n---\nx",
        "---\nname: x\n",
        "\n---\nname: x\n---\n",
        "---\n---\n",
        "---\na: !!bool x\n---\n",
        "---\nd: 2024-13-41\n---\n",
    ],
)
def test_what_is_not_front_matter_is_left_in_the_body(text: str) -> None:
    assert split_front_matter(text).front is None
    assert split_front_matter(text).body == text


def test_front_matter_is_found_with_either_newline() -> None:
    parted = split_front_matter("---\r\nname: x\r\n--- \r\nbody")
    assert parted.front is not None
    assert dict(parted.front.fields) == {"name": "x"}
    assert parted.front.raw + "body" == "---\r\nname: x\r\n--- \r\nbody"


def test_export_writes_front_matter_once() -> None:
    text = export("# A\n", "unit-check", "Checks: units.")
    assert text.startswith("---\nname: unit-check\n")
    assert text.endswith("---\n\n# A\n")
    assert export(text, "unit-check", "Checks: units.") == text
    assert Skill.parse(text).body == "\n# A\n"


def test_export_keeps_other_fields() -> None:
    text = export("---\nlicense: MIT\nname: old\n---\nx\n", "new", "d")
    front = split_front_matter(text).front
    assert front is not None
    assert dict(front.fields) == {"name": "new", "description": "d", "license": "MIT"}


@pytest.mark.parametrize(
    ("name", "description"), [("Bad Name", "d"), ("a--b", "d"), ("x" * 65, "d"), ("ok", " "), ("ok", "d" * 1025)]
)
def test_export_refuses_what_a_package_may_not_hold(name: str, description: str) -> None:
    with pytest.raises(SkillFileError):
        export("x", name, description)


def test_unified_marks_a_missing_last_newline() -> None:
    assert unified("a\n", "a\n") == ""
    assert unified("a\n", "b", old_name="v1", new_name="v2") == (
        "--- v1\n+++ v2\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"
    )


def test_word_diff_points_at_the_word() -> None:
    spans = [(s.kind, s.text) for s in word_diff("keep\nuse two units\n", "keep\nuse three units\n")]
    assert spans == [("equal", "keep\nuse "), ("delete", "two"), ("insert", "three"), ("equal", " units\n")]
