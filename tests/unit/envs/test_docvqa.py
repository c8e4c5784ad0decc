from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.agents.base import Task
from skillopt.envs.docvqa.adapter import DocVQA, DocVQAOptions
from skillopt.errors import ConfigError
from skillopt.model.types import Completion, Image, Message
from skillopt.prompts import Prompts
from skillopt.testing.mini_docvqa import draw
from skillopt.types import Attempt, Item, Usage

ANALYST = {"skill": "s", "guidance": "", "appendix": "", "memory": "", "previous_steps": "", "budget": 3}
ANALYST |= {"unit": "edits", "count": 1, "trajectories": "t", "skill_aware": False, "show_reference": False}


def bench(**options: object) -> DocVQA:
    return DocVQA(DocVQAOptions.model_validate(options))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    draw((("Total", "EUR 12.50"),), tmp_path / "page.png")
    return tmp_path / "page.png"


@pytest.fixture
def page_row(page: Path) -> dict[str, object]:
    return {"id": "1", "question": "Total?", "answers": ["12.50"], "image_path": str(page)}


@pytest.fixture
def item(page_row: dict[str, object]) -> Item:
    return bench().item(page_row, "val")


def said(item: Item, reply: str):
    return bench().score(item, Attempt(reply, ()))


def test_only_a_full_match_is_right_and_soft_is_anls(item: Item) -> None:
    right = said(item, "It stands below.\n<answer>12.50</answer>")
    assert (right.hard, right.soft) == (1.0, 1.0) and "fail_reason" not in right.detail
    close = said(item, "<answer>$12.50</answer>")
    assert (close.hard, close.soft) == (0.0, pytest.approx(1 - 1 / 6))
    assert close.detail["fail_reason"] == "close: predicted '$12.50', expected '12.50', similarity 0.83"
    wrong = said(item, "<answer>the total is EUR 12.50</answer>")
    assert (wrong.hard, wrong.soft) == (0.0, 0.0)
    assert wrong.detail["fail_reason"].startswith("wrong: ") and "among other words" in wrong.detail["fail_reason"]
    assert wrong.detail["gold_answers"] == ["12.50"] and wrong.detail["anls"] == 0.0


def test_the_reason_says_what_was_missing(item: Item) -> None:
    assert said(item, " \n").detail["fail_reason"] == "no answer"
    assert said(item, "x <answer> </answer>").detail["fail_reason"] == "no answer: the tags are empty"
    assert "no <answer> tags" in said(item, "7").detail["fail_reason"]
    assert said(item, "12.50").hard == 1.0


def test_an_empty_answer_is_right_only_where_nothing_is_expected(page_row: dict[str, object]) -> None:
    item = bench().item({**page_row, "answers": [""]}, "val")
    assert said(item, "<answer></answer>").hard == 1.0
    assert said(item, "").hard == 0.0
    assert said(item, "<answer>something</answer>").hard == 0.0


def test_a_task_shows_the_page_and_shares_its_system_text(item: Item, page: Path) -> None:
    b = bench(image_detail="high", max_completion_tokens=99)
    task = b.task(item, "rule {skill} one")
    assert [(p.path, p.detail) for p in task.pictures] == [(page, "high")]
    assert task.max_tokens == 99 and "12.50" not in task.user and "<answer>" in task.user
    assert task.system is b.task(item, "rule {skill} one").system and task.system.count("rule {skill} one") == 1
    assert b.example(item) is None


class Replies:
    offers = frozenset({"images", "conversation"})

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.tasks: list[Task] = []
        self.dialogues: list[tuple[Message, ...]] = []

    async def run(self, task: Task) -> Attempt:
        self.tasks.append(task)
        return Attempt(self.texts.pop(0), ())

    async def chat(self, messages, *, max_tokens, timeout, tools=()):
        self.dialogues.append(messages)
        text = self.texts.pop(0)
        return Completion(text, Usage(calls=1), finish="length" if text == "cut" else "stop")


async def test_one_turn_is_one_run(item: Item) -> None:
    agent = Replies("no tags")
    assert (await bench().attempt(item, "", agent)).answer == "no tags"
    assert len(agent.tasks) == 1 and not agent.dialogues


async def test_a_second_look_keeps_the_dialogue_and_the_image(item: Item) -> None:
    agent = Replies("I cannot see it", "hm", "<answer>12.50</answer>", "never asked")
    attempt = await bench(max_turns=5).attempt(item, "my skill", agent)
    assert (attempt.answer, attempt.turns, attempt.usage.calls) == ("<answer>12.50</answer>", 3, 3)
    last = agent.dialogues[-1]
    assert [m.role for m in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert isinstance(last[1].parts[1], Image) and last[1].parts[1].url.startswith("data:image/png;base64,")
    assert "my skill" in last[0].text and [last[2].text, last[4].text] == ["I cannot see it", "hm"]
    roles = [turn.role for turn in attempt.trajectory]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]
    assert "[image: page.png]" in attempt.trajectory[1].text


async def test_the_first_reply_with_an_answer_ends_it_and_so_does_the_limit(item: Item) -> None:
    once = await bench(max_turns=3).attempt(item, "", Replies("<answer>1</answer>", "never"))
    assert once.turns == 1
    never = await bench(max_turns=2).attempt(item, "", Replies("a", "cut", "never"))
    assert (never.answer, never.turns) == ("cut", 2)
    assert never.trajectory[-1].role == "verdict"


async def test_an_agent_without_conversation_is_refused_before_it_is_asked(item: Item) -> None:
    agent = Replies("x")
    agent.offers = frozenset({"images"})  # type: ignore[misc]
    with pytest.raises(ConfigError, match="max_turns"):
        await bench(max_turns=2).attempt(item, "", agent)


def test_options_are_checked_together() -> None:
    with pytest.raises(ConfigError) as caught:
        DocVQA.configured({"max_turns": 0, "image_detail": "huge", "image_rot": "x"})
    assert all(key in str(caught.value) for key in ("env.max_turns", "env.image_detail", "env.image_rot", "image_root"))


@pytest.mark.parametrize("mode", ["", "_rewrite", "_full_rewrite"])
def test_analysts_are_told_about_pages(mode: str) -> None:
    prompts = Prompts(bench().prompts_dir)
    error = prompts.render(f"analyst_error{mode}", **ANALYST).system
    assert error.startswith("# Failure analyst")
    for cause in ("evidence_miss", "near_match_confusion", "normalization_error", "reading_error", "other"):
        assert f"`{cause}`" in error
    success = prompts.render(f"analyst_success{mode}", **ANALYST).system
    assert success.startswith("# Success analyst") and "scanned pages" in success
