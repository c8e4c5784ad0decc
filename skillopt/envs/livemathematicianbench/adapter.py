"""LiveMathematicianBench: a question made from a recent theorem, several similar statements, one of them right.

The options are put in order when an item is made, so everything that decides a result is in the item, and the same
item reads the same in every evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import ClassVar

from pydantic import Field, model_validator

from skillopt.agents.base import Agent, Task
from skillopt.envs.base import Benchmark, DataSource, Options
from skillopt.envs.frame import Frame
from skillopt.envs.livemathematicianbench.answers import read
from skillopt.envs.livemathematicianbench.options import Option, arranged, options_of, question_of
from skillopt.envs.livemathematicianbench.rows import MonthlyLoader, Row, identified
from skillopt.envs.tags import tagged
from skillopt.types import JSON, Attempt, Item, Score, Turn, Usage

SEED = "option_seed"
"""The key under which a loaded row carries the data's seed to the item that is made of it."""

_TEXTS = ("month", "paper_link", "theorem", "sketch")
_OTHER = "math_mcq"
_HIDDEN = "The question is not shown. Judge from the options alone which of them is most likely the correct one."
_AGAIN = "This reply gave no answer. Say which option you choose: end with its label alone, as in <answer>B</answer>."


class LiveMathOptions(Options):
    max_turns: int = Field(default=1, ge=1, description="Above 1: ask again when a reply has no answer tags")
    max_completion_tokens: int = Field(default=16384, ge=1, description="Output limit of one attempt")
    shuffle_choices: bool = Field(default=True, description="Put the options of an item into an order of its own")
    use_theorem: bool = Field(default=False, description="Show the target the theorem: it nearly gives the answer away")
    use_sketch: bool = Field(default=False, description="Show the target the sketch of the proof")
    hide_question: bool = Field(
        default=False, description="Baseline: show the options only, to see what guessing gives"
    )

    @model_validator(mode="after")
    def _one_purpose(self) -> LiveMathOptions:
        if self.hide_question and (self.use_theorem or self.use_sketch):
            raise ValueError("hide_question measures guessing; set use_theorem and use_sketch to false with it")
        return self


class LiveMath(Benchmark):
    name: ClassVar[str] = "livemathematicianbench"
    Config: ClassVar[type[Options]] = LiveMathOptions
    task_types: ClassVar[tuple[str, ...]] = (
        _OTHER, "Implication", "Universal", "Existence", "Biconditional or Equivalence", "Existential–Universal",
        "Inequality or Bound", "Classification or Bijection", "Universal–Existential", "Asymptotic or Limit",
        "Uniqueness", "Independence or Consistency", "Equivalence", "Nonexistence", "Algorithmic or Constructive",
    )  # fmt: skip
    required: ClassVar[tuple[str, ...]] = ("id",)

    def __init__(self, options: LiveMathOptions) -> None:
        self._options = options
        self._system = Frame.beside(__file__)

    def rows(self, source: DataSource) -> dict[str, list[Row]]:
        loader = MonthlyLoader(**asdict(source))
        loader.setup({"env": self.name})
        splits = {"train": loader.train_items, "val": loader.val_items, "test": loader.test_items}
        return {name: [{**identified(row), SEED: source.split_seed} for row in rows] for name, rows in splits.items()}

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        named = identified(row)
        question = question_of(named)
        options, correct = options_of(named)
        order = f"{named.get(SEED, 42)}:{named['id']}" if self._options.shuffle_choices else None
        shown, label = arranged(options, correct, order)
        types = _types(named.get("theorem_type"))
        data: Row = {
            "id": str(named["id"]),
            "no": named.get("no"),
            **{name: str(named.get(name) or "").strip() for name in _TEXTS},
            "theorem_type": types,
            "question": question,
            "choices": [asdict(option) for option in shown],
            "correct_choice": next(asdict(option) for option in shown if option.label == label),
        }
        kind = next((name for name in types[:1] if name in self.task_types), _OTHER)
        return Item.make(data["id"], split, kind, data)

    def task(self, item: Item, skill: str) -> Task:
        data, shown = item.data, self._options
        listed = "\n".join(f"{option.label}. {option.text}" for option in _shown(item))
        parts = (
            _HIDDEN if shown.hide_question else f"Question:\n{data['question']}",
            f"Options:\n{listed}",
            f"The theorem behind the question:\n{data['theorem']}" if shown.use_theorem and data["theorem"] else "",
            f"A sketch of its proof:\n{data['sketch']}" if shown.use_sketch and data["sketch"] else "",
        )
        return Task(self._system(skill), "\n\n".join(filter(None, parts)), max_tokens=shown.max_completion_tokens)

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        """Ask until a reply has answer tags; every later turn holds the whole dialogue so far."""
        first = self.task(item, skill)
        attempts = [await agent.run(first)]
        user = first.user
        while len(attempts) < self._options.max_turns and not tagged(attempts[-1].answer):
            user = f"{user}\n\nYour reply:\n{attempts[-1].answer.strip() or '(empty)'}\n\n{_AGAIN}"
            attempts.append(await agent.run(Task(first.system, user, max_tokens=first.max_tokens)))
        return _joined(attempts)

    def score(self, item: Item, attempt: Attempt) -> Score:
        options, correct = _shown(item), item.data["correct_choice"]
        reading = read(attempt.answer, options)
        chosen = next((option.text for option in options if option.label == reading.label), "")
        right = float(reading.label == correct["label"])
        detail: dict[str, JSON] = {
            "question": item.data["question"],
            "predicted_answer": reading.said,
            "predicted_label": reading.label,
            "predicted_text": chosen,
            "correct_label": correct["label"],
            "correct_text": correct["text"],
        }
        if not right:
            detail["fail_reason"] = reading.problem or f"wrong: chose option {reading.label}"
        return Score(right, right, detail)

    def gold(self, item: Item) -> str:
        return f"<answer>{item.data['correct_choice']['label']}</answer>"

    def reference(self, item: Item) -> str:
        parts = (("Theorem", item.data["theorem"]), ("Sketch of the proof", item.data["sketch"]))
        return "\n\n".join(f"{title}:\n{text}" for title, text in parts if text)


def _types(value: JSON) -> list[str]:
    named = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(name) for name in named if str(name).strip()]


def _shown(item: Item) -> tuple[Option, ...]:
    return tuple(Option(choice["label"], choice["text"]) for choice in item.data["choices"])


def _joined(attempts: Sequence[Attempt]) -> Attempt:
    """One trajectory that tells each thing once: a later turn repeats the dialogue only to the agent."""
    if len(attempts) == 1:
        return attempts[0]
    told = list(attempts[0].trajectory)
    for attempt in attempts[1:]:
        told += [Turn("user", _AGAIN), *(turn for turn in attempt.trajectory if turn.role not in ("system", "user"))]
    usage = sum((attempt.usage for attempt in attempts), Usage())
    return Attempt(attempts[-1].answer, tuple(told), usage, turns=len(attempts))
