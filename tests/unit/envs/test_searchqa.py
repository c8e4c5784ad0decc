from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.agents.base import Task
from skillopt.envs.base import DataSource, grader_problems
from skillopt.envs.searchqa.adapter import CONTEXT_LIMIT, SearchQA, SearchQAOptions, shortened
from skillopt.envs.searchqa.scoring import Match, matched, normalised
from skillopt.envs.tags import extracted
from skillopt.errors import ConfigError, DataError
from skillopt.types import Attempt, Turn, Usage

REAL = Path("/work/shared/data/searchqa/items.json")
ROW = {"id": "a/b", "question": "Who?", "context": "[DOC] [TLE] T [PAR] text", "answers": ["Ada Lovelace"]}


def bench(**options: int) -> SearchQA:
    return SearchQA(SearchQAOptions(**options))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles!", "beatles"),
        ("  a  An THE  ", ""),
        ("rock-'n'-roll", "rocknroll"),
        ("Theatre of a kind", "theatre of kind"),
        ("Café “Ünïque”", "café “ünïque”"),
        ("$1,000.50", "100050"),
        ("", ""),
    ],
)
def test_normalisation(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("so <answer>one</answer> no, <ANSWER>\ntwo\n</ANSWER> done", "two"),
        ("thinking\nthe last line\n\n", "the last line"),
        ("<answer></answer>", ""),
        ("   ", ""),
        ("<answer>open", "<answer>open"),
    ],
)
def test_the_answer_is_found_in_a_reply(reply: str, expected: str) -> None:
    assert extracted(reply) == expected


@pytest.mark.parametrize(
    ("said", "golds", "expected"),
    [
        ("the red cent", ["Red Cent!"], Match(1, 1, 1)),
        ("cent", ["red cent"], Match(0, 2 / 3, 1)),
        ("blue cent", ["red cent", "blue"], Match(0, 2 / 3, 1)),
        ("red red", ["red cent"], Match(0, 0.5, 0)),
        ("dollar", ["red cent"], Match(0, 0, 0)),
        ("", ["red cent"], Match(0, 0, 1)),
        ("", ["The"], Match(1, 1, 1)),
        ("x", ["The"], Match(0, 0, 1)),
        ("CAFÉ", ["café"], Match(1, 1, 1)),
    ],
)
def test_matching(said: str, golds: list[str], expected: Match) -> None:
    assert matched(said, golds) == expected


def test_hard_is_exact_match_and_soft_is_f1() -> None:
    item = bench().item(ROW, "val")
    score = bench().score(item, Attempt("<answer>Ada</answer>", ()))
    assert (score.hard, score.soft) == (0.0, pytest.approx(2 / 3))
    assert score.detail["predicted_answer"] == "Ada" and score.detail["gold_answers"] == ["Ada Lovelace"]
    assert score.detail["fail_reason"].startswith("wrong: predicted 'Ada'")
    right = bench().score(item, Attempt("<answer>ada lovelace.</answer>", ()))
    assert right.hard == right.soft == 1.0 and "fail_reason" not in right.detail


def test_no_reply_is_never_right_even_where_the_answer_is_an_article() -> None:
    item = bench().item({**ROW, "answers": ["The"]}, "val")
    assert bench().score(item, Attempt(" \n", ())).detail["fail_reason"] == "no answer"
    assert bench().score(item, Attempt("<answer>The</answer>", ())).hard == 1.0


@pytest.mark.parametrize("answers", [[], None, [1], {}, [""], ""])
def test_answers_must_be_texts(answers: object) -> None:
    with pytest.raises(ValueError, match="answers"):
        bench().item({**ROW, "answers": answers}, "val")


def test_a_plain_string_is_one_answer_and_the_same_item() -> None:
    one, many = bench().item({**ROW, "answers": "Ada Lovelace"}, "val"), bench().item(ROW, "val")
    assert one == many and one.id == "a/b" and one.kind == "qa"


def test_a_long_context_keeps_whole_passages() -> None:
    passages = [f"[DOC] [TLE] {i} [PAR] " + "x" * 1500 for i in range(6)]
    kept = shortened(" ".join(passages))
    assert len(kept) <= CONTEXT_LIMIT
    assert kept == " ".join(passages[:3])


def test_the_passages_that_just_fit_are_kept() -> None:
    first = "[DOC] " + "y" * (CONTEXT_LIMIT - 6)
    assert shortened(first + "[DOC] more") == first


@pytest.mark.parametrize("context", ["[DOC] " + "z" * 9000, "z" * 9000, "intro [DOC] " + "z" * 9000 + "[DOC] b"])
def test_a_passage_too_long_on_its_own_is_cut_and_says_so(context: str) -> None:
    kept = shortened(context)
    assert len(kept) == CONTEXT_LIMIT and kept.endswith("[... cut here]")
    assert kept.startswith(context[:5000])


def test_all_items_share_the_system_text_and_the_skill_stands_near_its_top() -> None:
    b = bench()
    one, two = b.item(ROW, "val"), b.item({**ROW, "id": "2", "question": "Where?"}, "val")
    text = "rule {skill} one"
    system = b.task(one, text).system
    assert system is b.task(two, text).system
    assert system.count("## Skill") == 1 and system.count(text) == 1
    assert system.index(text) < len(system) / 2
    assert "## Skill" not in b.task(one, "").system and "{skill}" not in b.task(one, "").system


class Replies:
    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.tasks: list[Task] = []

    async def run(self, task: Task) -> Attempt:
        self.tasks.append(task)
        text = self.texts.pop(0)
        return Attempt(text, (Turn("user", task.user), Turn("assistant", text)), Usage(calls=1))

    async def chat(self, messages, *, max_tokens, timeout, tools=()):
        raise AssertionError("not used")


async def test_one_turn_by_default() -> None:
    agent = Replies("no tags")
    assert (await bench().attempt(bench().item(ROW, "val"), "", agent)).turns == 1


async def test_more_turns_check_the_answer_again_until_a_later_reply_has_tags() -> None:
    b = bench(max_turns=5)
    agent = Replies("<answer>Bob</answer>", "hm", "<answer>Ada Lovelace</answer>", "never asked")
    attempt = await b.attempt(b.item(ROW, "val"), "s", agent)
    assert (attempt.turns, attempt.usage.calls, len(agent.tasks)) == (3, 3, 3)
    assert attempt.answer == "<answer>Ada Lovelace</answer>"
    assert "<answer>Bob</answer>" in agent.tasks[1].user and "Bob" not in agent.tasks[2].user
    assert len({t.system for t in agent.tasks}) == 1


def test_options_are_checked_together() -> None:
    with pytest.raises(ConfigError) as caught:
        SearchQA.configured({"max_turns": 0, "max_turn": 2})
    text = str(caught.value)
    assert "env.max_turns" in text and "env.max_turn:" in text and "max_completion_tokens" in text


def test_prompts_live_beside_the_module() -> None:
    folder = bench().prompts_dir
    assert folder is not None and (folder / "target.md").is_file()


def write_split(root: Path, **splits: list[dict[str, object]]) -> DataSource:
    for name, rows in splits.items():
        (root / name).mkdir()
        (root / name / "items.json").write_text(json.dumps(rows), encoding="utf-8")
    return DataSource(split_mode="split_dir", split_dir=str(root))


def test_items_come_from_a_split_directory(tmp_path: Path) -> None:
    rows = {name: [{**ROW, "id": name, "question": name}] for name in ("train", "val", "test")}
    splits = bench().load(write_split(tmp_path, **rows))
    assert [item.split for item in (*splits.train, *splits.val, *splits.test)] == ["train", "val", "test"]


def test_all_bad_rows_are_reported_together(tmp_path: Path) -> None:
    good = {**ROW, "id": "g"}
    bad = [{**ROW, "answers": [7], "id": "x"}, {"id": "y", "question": "q", "answers": ["a"]}]
    with pytest.raises(DataError) as caught:
        bench().load(write_split(tmp_path, train=bad, val=[good], test=[{**good, "id": "t", "question": "z"}]))
    assert "answers must be" in str(caught.value) and "'context' is missing" in str(caught.value)


@pytest.mark.skipif(not REAL.is_file(), reason="the real samples are not on this machine")
def test_the_grader_holds_on_real_items() -> None:
    items = [bench().item(row, "val") for row in json.loads(REAL.read_text(encoding="utf-8"))]
    assert items and grader_problems(bench(), items) == ()
