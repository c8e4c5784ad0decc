"""Laws of the document that hold for every text and every sequence of changes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from skillopt.skill.diff import word_diff
from skillopt.skill.document import Skill, with_notes
from skillopt.types import Edit, Patch

MARKERS = tuple(f"<!-- {name}_{side} -->" for name in ("SLOW_UPDATE", "APPENDIX") for side in ("START", "END"))
PIECES = (
    *MARKERS,
    "<!-- SLOW_UP",
    "DATE_START -->",
    "<!--appendix_end-->",
    "---\n",
    "name: a\n",
    "- rule\n",
    "\n",
    " ",
    "a",
    "b",
)
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.text(max_size=40),
    st.text(alphabet="ab \n-:", max_size=20),
)
ops = st.sampled_from(["append", "insert_after", "replace", "delete", "other"])
edits = st.builds(Edit, op=ops, content=texts, target=texts)
changes = st.lists(st.tuples(st.sampled_from(["edit", "slow", "appendix", "body", "notes"]), edits), max_size=6)


def changed(skill: Skill, kind: str, edit: Edit) -> Skill:
    match kind:
        case "edit":
            return skill.apply(Patch((edit,))).skill
        case "slow":
            return skill.with_region("slow_update", edit.content)
        case "appendix":
            return skill.with_region("appendix", edit.content)
        case "body":
            return skill.with_body(edit.content)
        case _:
            return with_notes(skill, (edit.content, edit.target))


@given(texts)
def test_one_round_trip_is_enough(text: str) -> None:
    skill = Skill.parse(text)
    assert Skill.parse(skill.text) == skill
    if not any(m in text for m in MARKERS):
        assert skill.text == text


def readable(text: str) -> Counter[str]:
    while any(m in text for m in MARKERS):
        for marker in MARKERS:
            text = text.replace(marker, "")
    return Counter("".join(text.split()))


@given(texts)
def test_parsing_drops_markers_and_nothing_else(text: str) -> None:
    assert readable(text) <= readable(Skill.parse(text).text)


@given(texts, changes)
def test_every_change_keeps_one_well_formed_copy_of_each_region(text: str, steps: list[tuple[str, Edit]]) -> None:
    skill = Skill.parse(text)
    for kind, edit in steps:
        new = changed(skill, kind, edit)
        assert new.front == skill.front or new.front == skill.front + "\n"
        for name in ("slow_update", "appendix"):
            if kind in ("edit", "body") or {"slow": "slow_update", "notes": "appendix"}.get(kind, kind) != name:
                assert (new.has_region(name), new.region(name)) == (skill.has_region(name), skill.region(name))
            for side in ("START", "END"):
                assert new.text.count(f"<!-- {name.upper()}_{side} -->") == new.has_region(name)
        again = Skill.parse(new.text)
        assert (again.text, again.regions, again.front.strip()) == (new.text, new.regions, new.front.strip())
        skill = new


@given(texts, st.lists(edits, max_size=6))
def test_one_report_for_each_edit_and_skipped_edits_change_nothing(text: str, patch: list[Edit]) -> None:
    skill = Skill.parse(text)
    assert [r.index for r in skill.apply(Patch(tuple(patch))).reports] == list(range(1, len(patch) + 1))
    for edit in patch:
        done = skill.apply(Patch((edit,)))
        if not done.reports[0].applied:
            assert done.skill == skill


@given(texts, texts)
def test_appended_content_is_there_afterwards(text: str, content: str) -> None:
    done = Skill.parse(text).apply(Patch((Edit("append", content),)))
    if done.reports[0].applied and not any(word in content for word in ("SLOW", "APPENDIX", "appendix", "DATE")):
        assert content.strip() in done.skill.body
    else:
        assert done.reports[0].applied or done.reports[0].status == "skipped_no_content"


@given(texts, texts)
def test_word_diff_spells_both_texts(old: str, new: str) -> None:
    spans = word_diff(old, new)
    assert "".join(s.text for s in spans if s.kind != "insert") == old
    assert "".join(s.text for s in spans if s.kind != "delete") == new
