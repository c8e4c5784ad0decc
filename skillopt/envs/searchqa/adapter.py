"""SearchQA as a benchmark: one clue, the search results, a short answer between tags.

The system text depends on the skill alone, so every item of a rollout shares its beginning and providers can cache it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from skillopt.agents.base import Agent, Task
from skillopt.envs.base import Benchmark, Options
from skillopt.envs.frame import Frame
from skillopt.envs.searchqa.scoring import matched
from skillopt.envs.tags import extracted, tagged
from skillopt.types import JSON, Attempt, Item, Score, Usage

CONTEXT_LIMIT = 6000
_PASSAGE = "[DOC]"
_CUT = "\n[... cut here]"


class SearchQAOptions(Options):
    """`max_turns` above 1 lets the target look at its own answer again."""

    max_turns: int = Field(default=1, ge=1)
    max_completion_tokens: int = Field(default=16384, ge=1)


class SearchQA(Benchmark):
    name: ClassVar[str] = "searchqa"
    Config: ClassVar[type[Options]] = SearchQAOptions
    task_types: ClassVar[tuple[str, ...]] = ("qa",)
    required: ClassVar[tuple[str, ...]] = ("id", "question", "context", "answers")

    def __init__(self, options: SearchQAOptions) -> None:
        self._options = options
        self._system = Frame.beside(__file__)

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        answers = row["answers"]
        if isinstance(answers, str):
            answers = [answers]
            row = {**row, "answers": answers}
        if not isinstance(answers, list) or not answers or not all(isinstance(a, str) and a.strip() for a in answers):
            raise ValueError("answers must be a list of at least one text")
        return super().item(row, split)

    def task(self, item: Item, skill: str) -> Task:
        context = shortened(str(item.data["context"]))
        user = f"Search results:\n{context}\n\nClue: {item.data['question']}"
        return Task(self._system(skill), user, max_tokens=self._options.max_completion_tokens)

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        first = self.task(item, skill)
        attempts = [await agent.run(first)]
        if self._options.max_turns == 1:
            return attempts[0]
        while len(attempts) < self._options.max_turns and not (len(attempts) > 1 and tagged(attempts[-1].answer)):
            again = f"{first.user}\n\n{_recheck(attempts[-1].answer)}"
            attempts.append(await agent.run(Task(first.system, again, max_tokens=first.max_tokens)))
        return _joined(attempts)

    def score(self, item: Item, attempt: Attempt) -> Score:
        answers: list[str] = item.data["answers"]
        predicted = extracted(attempt.answer)
        detail: dict[str, JSON] = {
            "predicted_answer": predicted,
            "gold_answers": answers,
            "question": item.data["question"],
        }
        if not attempt.answer.strip():
            return Score(0.0, 0.0, detail | {"em": 0.0, "f1": 0.0, "sub_em": 0.0, "fail_reason": "no answer"})
        match = matched(predicted, answers)
        detail |= {"em": match.em, "f1": match.f1, "sub_em": match.sub_em}
        if not match.em:
            detail["fail_reason"] = _reason(attempt.answer, predicted, match.sub_em)
        return Score(match.em, match.f1, detail)

    def gold(self, item: Item) -> str:
        return f"<answer>{item.data['answers'][0]}</answer>"


def shortened(context: str, limit: int = CONTEXT_LIMIT) -> str:
    """The leading whole passages that fit; a first passage that is too long on its own is cut, and says so."""
    if len(context) <= limit:
        return context
    second = context.find(_PASSAGE) + 1
    end = context.rfind(_PASSAGE, second, limit + len(_PASSAGE)) if second else 0
    kept = context[:end].rstrip() if end > 0 else ""
    return kept or context[: limit - len(_CUT)] + _CUT


def _recheck(reply: str) -> str:
    return (
        f"Your reply so far:\n{reply}\n\n"
        "Check it against the passages and the wording of the clue. Keep the answer if it holds, mend it if it does "
        "not, and end with <answer>your answer</answer>."
    )


def _joined(attempts: list[Attempt]) -> Attempt:
    turns = tuple(turn for attempt in attempts for turn in attempt.trajectory)
    usage = sum((attempt.usage for attempt in attempts), Usage())
    last = attempts[-1]
    return Attempt(last.answer, turns, usage, turns=len(attempts), skill_read=last.skill_read)


def _reason(reply: str, predicted: str, sub_em: float) -> str:
    said = predicted if len(predicted) <= 200 else predicted[:200] + " ..."
    if not said:
        return "no answer: the tags are empty"
    form = "" if tagged(reply) else " (no <answer> tags, the last line was taken)"
    near = " (contains the expected answer or is part of it)" if sub_em else ""
    return f"wrong: predicted {said!r}{near}{form}"
