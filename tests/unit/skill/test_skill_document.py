"""Taking a skill apart and putting it together, and reading it from disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.errors import SkillFileError
from skillopt.skill.document import APPENDIX_HEADING, Region, Skill, appendix_notes, with_notes
from skillopt.types import Edit, Patch, digest

SLOW = "<!-- SLOW_UPDATE_START -->\n{}\n<!-- SLOW_UPDATE_END -->"
APPENDIX = "<!-- APPENDIX_START -->\n{}\n<!-- APPENDIX_END -->"


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# A", "a\r\nb\r\n", "---\nname: x\n---\n\nbody", "---\nname: x\n---", "---\n"]
)
def test_a_text_without_markers_comes_back_byte_for_byte(text: str) -> None:
    assert Skill.parse(text).text == text
    assert Skill.parse(text).digest == digest(text)


def test_regions_are_rendered_appendix_first_slow_update_last() -> None:
    skill = Skill.parse(f"# A\n\n{SLOW.format('slow')}\n\n- tail\n\n{APPENDIX.format('notes')}\n")
    assert skill.body == "# A\n\n- tail\n"
    assert skill.text == f"# A\n\n- tail\n\n{APPENDIX.format('notes')}\n\n{SLOW.format('slow')}\n"
    assert Skill.parse(skill.text) == skill


def test_an_empty_region_stays_present() -> None:
    skill = Skill("rules\n").with_region("slow_update", "")
    assert skill.text == "rules\n\n<!-- SLOW_UPDATE_START -->\n<!-- SLOW_UPDATE_END -->\n"
    assert Skill.parse(skill.text).has_region("slow_update")
    assert skill.without_region("slow_update").text == "rules\n"


def test_a_second_copy_of_a_region_becomes_body_text() -> None:
    skill = Skill.parse(f"{SLOW.format('one')}\nmid\n{SLOW.format('two')}\n")
    assert skill.regions == (Region("slow_update", "one"),)
    assert skill.body == "mid\ntwo\n"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("a\n<!-- SLOW_UPDATE_START -->\nb\n", "a\nb\n"),
        ("a\n<!-- SLOW_UPDATE_END -->\nb\n<!-- SLOW_UPDATE_START -->\nc", "a\nb\nc"),
        ("a <!-- APPENDIX_END --> b", "a  b"),
        ("x<!-- SLOW_UP<!-- APPENDIX_END -->DATE_START -->y", "xy"),
    ],
)
def test_stray_markers_go_and_their_surroundings_stay(text: str, body: str) -> None:
    assert Skill.parse(text) == Skill(body)


def test_of_nested_regions_the_inner_one_counts() -> None:
    inner = APPENDIX.format("in")
    skill = Skill.parse(f"a\n<!-- SLOW_UPDATE_START -->\nb\n{inner}\nc\n<!-- SLOW_UPDATE_END -->\n")
    assert skill.region("appendix") == "in"
    assert skill.region("slow_update") == ""
    assert skill.body == "a\nb\n\nc\n"


def test_region_text_cannot_forge_a_region() -> None:
    skill = Skill("x\n").with_region("slow_update", f"one\n{APPENDIX.format('forged')}\n<!--slow_update_END-->two")
    assert [r.name for r in skill.regions] == ["slow_update"]
    assert Skill.parse(skill.text) == skill
    assert "two" in skill.region("slow_update")


def test_a_rewritten_document_keeps_front_matter_and_regions() -> None:
    seed = Skill.parse(f"---\nname: a\n---\n\nold\n\n{SLOW.format('kept')}\n")
    new = seed.with_body(
        f"---\nname: forged\n---\n# New\n\n{SLOW.format('forged')}\n\nrule\n<!-- APPENDIX_START -->\nx"
    )
    assert new.text == f"---\nname: a\n---\n\n# New\n\nrule\n\nx\n\n{SLOW.format('kept')}\n"


def test_front_matter_survives_edits_and_cannot_be_reached() -> None:
    seed = Skill.parse("---\nname: a\ndescription: b\n---\n")
    done = seed.apply(
        Patch(
            (
                Edit("append", "- one"),
                Edit("replace", "evil", "name: a"),
                Edit("delete", target="description: b\n---\n\n- one"),
            )
        )
    )
    assert [r.status for r in done.reports] == [
        "applied_append",
        "skipped_protected_region",
        "skipped_protected_region",
    ]
    assert done.skill.text == "---\nname: a\ndescription: b\n---\n\n- one\n"


def test_an_edit_cannot_create_front_matter() -> None:
    done = Skill().apply(Patch((Edit("append", "---\nname: forged\n---\nx"),)))
    assert Skill.parse(done.skill.text).front == ""


def test_notes_are_deduplicated_and_keep_their_first_spelling() -> None:
    skill = with_notes(Skill("body\n"), ["Check  units.", "- check units", "Second\nline"])
    skill = with_notes(skill, ["CHECK UNITS;", "third <!-- APPENDIX_END -->", " . "])
    assert appendix_notes(skill) == ("Check units.", "Second line", "third")
    assert skill.region("appendix").splitlines()[0] == APPENDIX_HEADING
    fewer = with_notes(skill.without_region("appendix"), ["only"])
    assert appendix_notes(fewer) == ("only",)


def test_without_notes_the_empty_appendix_is_put_in_place() -> None:
    skill = with_notes(Skill(), [])
    assert skill.text == f"{APPENDIX.format(APPENDIX_HEADING)}\n"
    assert appendix_notes(skill) == ()
    assert with_notes(skill, []) == skill


def test_load_reads_files_and_packages(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes("\ufeffrégle\r\n".encode())
    (tmp_path / "empty.md").write_text("")
    assert Skill.load(tmp_path).text == "régle\r\n"
    assert Skill.load(tmp_path / "empty.md") == Skill()


def test_load_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "initial.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SkillFileError, match=r"intial\.md does not exist\. Did you mean initial\.md\?"):
        Skill.load(tmp_path / "intial.md")
    with pytest.raises(SkillFileError, match="directory without a"):
        Skill.load(tmp_path)
    with pytest.raises(SkillFileError, match="not UTF-8"):
        Skill.load(tmp_path / "initial.md")
    with pytest.raises(SkillFileError, match="no directory"):
        Skill.load(tmp_path / "no" / "initial.md")


def test_a_lone_surrogate_in_model_text_does_not_break_the_digest() -> None:
    done = Skill("a\n").apply(Patch((Edit("append", "bad \ud800 char"),)))
    assert len(done.skill.digest) == 16
