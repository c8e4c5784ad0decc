"""A world for any benchmark: the target knows each item's right and wrong reply, and which rule of the skill it takes.

It cheats on the answers, so that real samples can be used; it does not cheat on the rest. A question about a picture is
answered only when the picture came along, one about a document only when the tools brought up the proof.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt.envs.base import Benchmark
from skillopt.testing.analysts import Mind
from skillopt.testing.editors import Editor
from skillopt.testing.passages import Row, budget, section
from skillopt.testing.wire_formats import Asked, Said
from skillopt.testing.world import Reading, World
from skillopt.types import Item, digest

LESSONS = ("read-twice", "exact-form")
_RULE = re.compile(r"\bRule ([a-z-]+):")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tool call that comes before the answer, and what its result must hold; "" = anything."""

    tool: str
    arguments: str
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """`mark` is a text of the prompt by which the question is known; `lesson` the rule it takes ("" = none)."""

    mark: str
    right: str
    wrong: str
    lesson: str = ""
    pictures: tuple[str, ...] = ()
    """The SHA-256 of the files that must come along; the same words about another page are another question."""
    lookups: tuple[Lookup, ...] = ()


class Pupil(World):
    """Knows the questions by their marks and nothing else."""

    def __init__(self, questions: Iterable[Question], seed: int = 0) -> None:
        super().__init__(seed)
        # The longest mark first: a short question may stand within a longer one.
        self.questions = sorted(questions, key=lambda q: -len(q.mark))

    def respond(self, asked: Asked) -> Said:
        if self.read(asked.system).editor is not None:
            return Said(self.reply(asked.system, asked.user))
        asking = [q for q in self.questions if q.mark in asked.user]
        question = next((q for q in asking if set(q.pictures) <= set(asked.seen)), None)
        if asking and question is None:
            return Said("I was shown no page of it. <answer>no page</answer>")
        if question is None:
            return Said("I do not know this question. <answer>unknown</answer>")
        return self._answer(question, asked)

    def read(self, system: str) -> Reading:
        reading = super().read(system)
        if reading.editor is not None and reading.editor.name == "failure analyst":
            analyst = Editor("failure analyst", self._analysis)
            return Reading(analyst, reading.rules, reading.overrides, reading.digest)
        return reading

    def _answer(self, question: Question, asked: Asked) -> Said:
        if len(asked.results) < len(question.lookups) and asked.tools:
            wanted = question.lookups[len(asked.results)]
            return Said("", "tool", wanted.tool, arguments=wanted.arguments)
        if not _proven(question.lookups, asked.results):
            return Said("The tools did not bring it up. <answer>not found</answer>")
        known = not question.lesson or question.lesson in _RULE.findall(asked.system)
        return Said(question.right if known else question.wrong)

    def _analysis(self, user: str, mind: Mind) -> Row:
        """The rules of the questions that failed, the most frequent first."""
        blocks = re.findall(r"<trajectory>\n(.*?)\n</trajectory>", user, re.DOTALL)
        met = [next((q for q in self.questions if q.mark in block), None) for block in blocks]
        counts = Counter(q.lesson for q in met if q is not None and q.lesson)
        known = section(user, "current_skill")
        missing = [name for name, _ in counts.most_common() if f"Rule {name}:" not in known]
        edits = [
            {"op": "append", "content": f"Rule {name}: follow it.", "why": "it was not followed"} for name in missing
        ]
        summary = [{"failure_type": name, "count": n, "description": "rule missing"} for name, n in counts.items()]
        patch = {"reasoning": "Rules were missing.", "edits": edits[: budget(user)]}
        return {"batch_size": len(blocks), "failure_summary": summary, "patch": patch}


def questions_for(
    benchmark: Benchmark, items: Sequence[Item], *, field: str = "question", lookups: Sequence[Lookup] = ()
) -> list[Question]:
    """Every item as a question that takes one of two lessons, its gold reply the right one.

    The same words take the same lesson, so that an analyst who sees only the words names the right one.
    """
    return [
        Question(
            mark=str(item.data[field]),
            right=benchmark.gold(item),
            wrong="<answer>something else entirely</answer>",
            lesson=LESSONS[int(digest(str(item.data[field])), 16) % len(LESSONS)],
            pictures=tuple(hashlib.sha256(p.path.read_bytes()).hexdigest() for p in benchmark.task(item, "").pictures),
            lookups=tuple(lookups),
        )
        for item in items
    ]


def _proven(lookups: Sequence[Lookup], results: Sequence[str]) -> bool:
    pairs = zip(lookups, results, strict=False)
    return len(results) >= len(lookups) and all(lookup.proof in result for lookup, result in pairs)
