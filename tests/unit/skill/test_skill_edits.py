"""One edit at a time: what it does to the text and what its report says."""

from __future__ import annotations

import pytest

from skillopt.skill.document import Skill
from skillopt.types import Edit, Patch

RULES = "# Rules\n\n- one\n- two\n\nEnd here.\n"


def applied(text: str, *edits: Edit) -> tuple[str, list[str]]:
    done = Skill.parse(text).apply(Patch(edits))
    return done.skill.text, [r.status for r in done.reports]


@pytest.mark.parametrize(
    ("edit", "status", "expected"),
    [
        (Edit("append", "  - new \n"), "applied_append", RULES + "\n- new\n"),
        (Edit("Append", "x", target="anything"), "applied_append", RULES + "\nx\n"),
        (Edit("insert_after", "- mid", "one"), "applied_insert_after", RULES.replace("- two", "- mid\n- two")),
        (Edit("insert_after", "- last", "- two\n"), "applied_insert_after", RULES.replace("- two", "- two\n- last")),
        (Edit("insert_after", "Text.", "# Rules"), "applied_insert_after", RULES.replace("s\n\n", "s\n\nText.\n\n")),
        (Edit("insert_after", "Text.", "End here."), "applied_insert_after", RULES + "\nText.\n"),
        (Edit("insert_after", "x", ""), "applied_insert_after_fallback_append", RULES + "\nx\n"),
        (Edit("replace", "- uno", "- one\n"), "applied_replace", RULES.replace("one", "uno")),
        (Edit("replace", "- both", "- one   - two"), "applied_replace", RULES.replace("- one\n- two", "- both")),
        (Edit("delete", target="- one"), "applied_delete", RULES.replace("- one\n", "")),
        (Edit("delete", target="two"), "applied_delete", RULES.replace("- two\n", "")),
        (Edit("delete", target="- one\n- two\n"), "applied_delete", "# Rules\n\nEnd here.\n"),
        (Edit("delete", target="# Rules"), "applied_delete", "- one\n- two\n\nEnd here.\n"),
        (Edit("delete", target="End here."), "applied_delete", "# Rules\n\n- one\n- two\n"),
        (Edit("delete", target="here"), "applied_delete", RULES.replace("here", "")),
    ],
)
def test_applied(edit: Edit, status: str, expected: str) -> None:
    assert applied(RULES, edit) == (expected, [status])


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        (Edit("append", " \n"), "skipped_no_content"),
        (Edit("append", "<!-- APPENDIX_START --> <!--slow_update_end-->"), "skipped_no_content"),
        (Edit("insert_after", "", "one"), "skipped_no_content"),
        (Edit("replace", "", "one"), "skipped_no_content"),
        (Edit("insert_after", "x", "three"), "skipped_insert_after_target_not_found"),
        (Edit("replace", "x"), "skipped_replace_missing_target"),
        (Edit("replace", "x", "three"), "skipped_replace_target_not_found"),
        (Edit("delete", target=" "), "skipped_delete_missing_target"),
        (Edit("delete", target="three"), "skipped_delete_target_not_found"),
        (Edit("delete", target="- "), "skipped_ambiguous_target"),
        (Edit("replace", "x", "e"), "skipped_ambiguous_target"),
        (Edit("insert_after", "x", "- "), "skipped_ambiguous_target"),
        (Edit("delete", target="one\n<!-- APPENDIX_START -->"), "skipped_protected_region"),
        (Edit("upsert", "x", "one"), "skipped_unknown_op"),
    ],
)
def test_skipped_edits_change_nothing(edit: Edit, status: str) -> None:
    assert applied(RULES, edit) == (RULES, [status])


def test_nulls_from_a_model_are_tolerated() -> None:
    rows = ({"op": "append", "content": "x", "target": None}, {"op": "delete", "content": None, "target": "two"})
    text, statuses = applied(RULES, *(Edit.from_dict(r) for r in rows))
    assert statuses == ["applied_append", "applied_delete"]
    assert text == RULES.replace("- two\n", "") + "\nx\n"


def test_edits_are_sequential_and_reports_numbered() -> None:
    done = Skill.parse("a\n").apply(
        Patch((Edit("append", "b" * 300), Edit("replace", "c", "b" * 300), Edit("delete", target="b")))
    )
    assert done.skill.text == "a\n\nc\n"
    assert [(r.index, r.applied) for r in done.reports] == [(1, True), (2, True), (3, False)]
    assert len(done.reports[0].content_preview) == len(done.reports[1].target) == 200


def test_overlapping_occurrences_are_ambiguous() -> None:
    assert applied("aaa\n", Edit("delete", target="aa"))[1] == ["skipped_ambiguous_target"]


class TestWithRegions:
    text = Skill.parse("# A\n\nbody\n").with_region("slow_update", "keep this\nand this").text

    @pytest.mark.parametrize(
        "target", ["keep this", "body keep", "body\n\n<!-- SLOW_UPDATE_START -->\nkeep", "keep\nthis and"]
    )
    @pytest.mark.parametrize("op", ["replace", "delete", "insert_after"])
    def test_targets_in_or_across_a_region_are_refused(self, op: str, target: str) -> None:
        assert applied(self.text, Edit(op, "x", target)) == (self.text, ["skipped_protected_region"])

    def test_append_goes_before_the_region(self) -> None:
        text, statuses = applied(self.text, Edit("append", "new"), Edit("insert_after", "more"))
        assert text == self.text.replace("body\n", "body\n\nnew\n\nmore\n")
        assert statuses == [
            "applied_append_before_protected_region",
            "applied_insert_after_fallback_before_protected_region",
        ]

    def test_a_target_in_the_body_is_edited_even_if_a_region_repeats_it(self) -> None:
        text = Skill.parse("rule\n").with_region("slow_update", "rule").text
        assert applied(text, Edit("replace", "new", "rule")) == (text.replace("rule", "new", 1), ["applied_replace"])


@pytest.mark.parametrize(
    "content",
    [
        "<!-- SLOW_UP<!-- SLOW_UPDATE_START -->DATE_START -->x<!-- SLOW_UPDATE_END -->",
        "<!--SLOW_UPDATE_START-->x<!--  slow_update_end  -->",
        "<!-- Slow Update Start -->x<!-- slow-update-end -->",
    ],
)
def test_content_cannot_bring_markers(content: str) -> None:
    assert applied("a\n", Edit("append", content)) == ("a\n\nx\n", ["applied_append"])


def test_pieces_cannot_join_into_a_marker() -> None:
    text = "<!-- APPENDIX_STARX -->\nx\n<!-- APPENDIX_ENDD -->\n"
    edits = (Edit("replace", "START", "STARX"), Edit("delete", target="?"), Edit("replace", "END", "ENDD"))
    assert applied(text, edits[0]) == (text, ["skipped_protected_region"])
    assert applied(text.replace("STARX", "STAR?T"), edits[1])[1] == ["skipped_protected_region"]
    assert applied(text, edits[2])[1] == ["skipped_protected_region"]
