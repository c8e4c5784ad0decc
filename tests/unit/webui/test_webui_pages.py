"""View models: what a page says is what the journal holds, and foreign text does nothing."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_webui.pages.compare import Named, compare_page, paired_with
from skillopt_webui.pages.items import Wish, item_page, items_page
from skillopt_webui.pages.run import run_page
from skillopt_webui.pages.skill import skill_page, versions
from skillopt_webui.pages.step import step_page
from skillopt_webui.reading.follower import Follower, follow_now
from skillopt_webui.reading.summary import Standing
from skillopt_webui.text import blocks, diff_words, markdown, plain, visible

Writer = Any


@pytest.fixture
def finished(writer: Writer) -> Follower:
    writer.whole()
    return follow_now(writer.directory)


def test_the_run_page_has_scores_spend_and_troubles(finished: Follower) -> None:
    page = run_page(finished, Standing("finished"), 2000.0, page=1, caps={}, run_id="x")
    tiles = {t["label"]: t for t in page["tiles"]}
    assert tiles["Validation"]["value"] == "0.00 → 0.50" and tiles["Steps"]["note"] == "1 accepted, 1 rejected"
    assert [s["kind"] for s in page["steps"]] == ["rejected", "accepted"]
    assert page["spend"]["bars"][0]["words"] == "$0.0600 of $2.00"
    assert page["troubles"]["counts"] == ["1 × timeout"] and page["troubles"]["retries"] == 6
    assert 'class="mark rejected"' in page["chart"] and "95% interval" in page["chart"]


def test_a_run_under_way_shows_its_stage_and_what_is_left(writer: Writer) -> None:
    from skillopt.journal.events import StageStarted

    writer.start()
    writer.put(StageStarted(at="baseline", stage="evaluate", of=4))
    writer.attempt("a", True)
    page = run_page(follow_now(writer.directory), Standing("running", pid=1), 1012.0, page=1, caps={}, run_id="x")
    assert page["strip"]["stages"][0] == {"name": "Validate", "state": "now", "sign": "●", "done": 1, "of": 4}
    assert page["strip"]["eta"] == "left: this stage about 30s" and page["chart"] is None


def test_the_step_page_tells_edits_reasons_items_and_flips(finished: Follower) -> None:
    step = finished.view.step("e01s01")
    assert step is not None
    page = step_page(finished, step, rendered=False)
    assert "<ins>" in page["diff"] and "Give the year alone." in page["diff"]
    edit = page["edits"][0]
    assert edit["why"] == "two dates were too long" and edit["applied"] and edit["source"] == "from failures"
    assert [i["id"] for i in edit["support"]] == ["a", "b"] and edit["support"][0]["digest"]
    assert [i["id"] for i in page["flips"]["gained"]] == ["a"]
    assert [e["content"] for e in page["dropped"]] == ["Never guess."]


def test_items_can_be_filtered(finished: Follower) -> None:
    def found(**wish: str) -> list[str]:
        return [r["id"] for r in items_page(finished, Wish(**wish))["rows"]]

    assert found() == ["a", "b", "c"] and found(show="missing") == ["c"] and found(show="changed", stage="val") == ["a"]
    assert found(query="question B") == ["b"] and found(at="e01s01", stage="train") == ["a", "c"]


def test_an_item_is_shown_beside_itself(finished: Follower) -> None:
    row = finished.ledger.items[finished.ledger.ids["a"]]
    page = item_page(finished, row, shown=None, beside=row.attempts[0].seq, rendered=True, full=False)
    assert [t["skill"] for t in page["talks"]] == ["first skill", "skill after step 1"]
    assert [turn["role"] for turn in page["talks"][0]["turns"]] == ["system", "user", "assistant"]
    assert page["talks"][0]["detail"] == [("fail reason", "wrong")]


def test_the_skill_has_versions_and_evidence(finished: Follower, writer: Writer) -> None:
    assert versions(finished) == {0: writer.SEED, 1: writer.BETTER}
    page = skill_page(finished, version=None, view="rendered")
    assert page["version"] == 1 and page["is_best"]
    origins = [(p["place"], p["why"]) for p in page["paragraphs"]]
    assert origins == [("", ""), ("", ""), ("step 1", "two dates were too long")]


def test_runs_are_compared_on_the_items_both_met(finished: Follower, writer: Writer) -> None:
    one, two = Named("a", "one", finished), Named("b", "two", finished)
    pair = paired_with(one, two)
    assert pair.split == "validation" and pair.change is not None and pair.change.value == 0
    page = compare_page([one, two], [pair])
    assert page["skills"][0][2] and page["settings"] == []


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[click](javascript:alert(1))",
        "![x](http://example.com/spy.png)",
        "<a href='http://example.com'>x</a>",
        "```\n</pre><script>alert(1)</script>\n```",
        "| a |\n|---|\n| <svg/onload=alert(1)> |",
    ],
)
def test_markup_of_others_is_text(hostile: str) -> None:
    for html in (markdown(hostile), plain(hostile), diff_words("", hostile)):
        assert "<script" not in html and "<img src=x" not in html and "<svg" not in html
        assert 'href="javascript' not in html and 'src="http' not in html and "<a href='http" not in html


def test_hidden_characters_are_made_visible() -> None:
    assert visible("a\x00\x1b[31m\u202eb\u2066c\r\nd\x7f") == "a␀␛[31m⟨U+202E⟩b⟨U+2066⟩c\nd␡"
    assert visible("קצת عربي 👩‍👩‍👧 \t\n") == "קצת عربي 👩‍👩‍👧 \t\n"


def test_code_blocks_stay_whole() -> None:
    assert blocks("a\n\n```\nb\n\nc\n```\n\nd") == ("a", "```\nb\n\nc\n```", "d")
