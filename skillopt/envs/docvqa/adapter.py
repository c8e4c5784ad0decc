"""DocVQA as a benchmark: a question, the scanned page or pages, a short answer between tags.

An item is named by its question, its answers and the content of its pages; where the pages lie does not enter the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from skillopt.agents.base import Ability, Agent, Picture, Task
from skillopt.agents.chat import CUT_OFF, opening
from skillopt.agents.pictures import parts
from skillopt.datasets.checks import Splits, checked_items
from skillopt.envs.base import Benchmark, DataSource, Options
from skillopt.envs.docvqa.golds import golds
from skillopt.envs.docvqa.pages import Pages
from skillopt.envs.docvqa.rows import KIND, TablesFirst, asked, named
from skillopt.envs.docvqa.scoring import RIGHT, Nearest, extracted, nearest, normalised, tagged
from skillopt.envs.frame import Frame
from skillopt.errors import ConfigError
from skillopt.model.types import Message, Text
from skillopt.skill.examples import Example
from skillopt.types import JSON, Attempt, Item, Score, Turn, Usage

_SHOWN = 200
_AGAIN = (
    "Your reply holds no answer between tags. Look at the page once more: find the place that the question is about, "
    "read it letter by letter, and end with <answer>your answer</answer>."
)


class DocVQAOptions(Options):
    """`max_turns` above 1 lets the target look again when its reply holds no answer."""

    max_turns: int = Field(default=1, ge=1)
    max_completion_tokens: int = Field(default=16384, ge=1)
    image_detail: Literal["auto", "low", "high"] = "auto"
    image_root: str = Field(default="", description="Folder that image paths are relative to; looked in first")


class DocVQA(Benchmark):
    name: ClassVar[str] = "docvqa"
    Config: ClassVar[type[Options]] = DocVQAOptions
    task_types: ClassVar[tuple[str, ...]] = (
        KIND, "figure/diagram", "form", "free_text", "handwritten", "Image/Photo", "layout", "others", "table/list",
        "Yes/No",
    )  # fmt: skip
    required: ClassVar[tuple[str, ...]] = ("id", "question")
    needs: ClassVar[frozenset[Ability]] = frozenset({"images"})

    def __init__(self, options: DocVQAOptions) -> None:
        self._options = options
        self._system = Frame.beside(__file__)

    def rows(self, source: DataSource) -> dict[str, list[dict[str, JSON]]]:
        loader = TablesFirst(**asdict(source))
        loader.setup({"env": self.name})
        found = {"train": loader.train_items, "val": loader.val_items, "test": loader.test_items}
        return {split: [named(row) for row in rows] for split, rows in found.items()}

    def load(self, source: DataSource) -> Splits:
        pages = Pages()

        def make(row: Mapping[str, JSON], split: str) -> Item:
            return _item(row, split, pages, (*self._roots(), *_places(source, split)))

        return checked_items(self.rows(source), make=make, required=self.required)

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        """A single row; its images are looked for in `image_root` and the current directory."""
        return _item(row, split, Pages(), (*self._roots(), Path()))

    def task(self, item: Item, skill: str) -> Task:
        paths: list[str] = item.data["image_paths"]
        shown = "The page is attached." if len(paths) == 1 else f"The {len(paths)} pages are attached, in order."
        return Task(
            self._system(skill),
            f"Question: {item.data['question']}\n\n{shown} End with <answer>your answer</answer>.",
            max_tokens=self._options.max_completion_tokens,
            pictures=tuple(Picture(Path(path), self._options.image_detail) for path in paths),
        )

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        task = self.task(item, skill)
        if self._options.max_turns == 1:
            return await agent.run(task)
        if "conversation" not in agent.offers:
            raise ConfigError("env.max_turns: this target answers once and cannot look again; set it to 1")
        return await _looked(task, agent, self._options.max_turns)

    def score(self, item: Item, attempt: Attempt) -> Score:
        answers: list[str] = item.data["answers"]
        predicted = extracted(attempt.answer)
        detail: dict[str, JSON] = {
            "predicted_answer": predicted,
            "gold_answers": answers,
            "question": item.data["question"],
        }
        if not attempt.answer.strip():
            return Score(0.0, 0.0, detail | {"anls": 0.0, "fail_reason": "no answer"})
        best = nearest(predicted, answers)
        detail["anls"] = best.anls
        if best.anls >= RIGHT:
            return Score(1.0, best.anls, detail)
        return Score(0.0, best.anls, detail | {"fail_reason": _reason(attempt.answer, predicted, best, answers)})

    def gold(self, item: Item) -> str:
        return f"<answer>{item.data['answers'][0]}</answer>"

    def example(self, item: Item) -> Example | None:
        """None: a text cannot show a page."""
        return None

    def _roots(self) -> tuple[Path, ...]:
        root = self._options.image_root
        return (Path(root).expanduser(),) if root else ()


def _item(row: Mapping[str, JSON], split: str, pages: Pages, places: Sequence[Path]) -> Item:
    """Make an item, or say everything that is wrong with the row."""
    said = asked(row)
    found = [pages.found(name, places) for name in said.images]
    problems = [page.problem for page in found if page.problem]
    if not found:
        problems.append("there is no image (image_path, image_paths, or `document_path:` in the question)")
    answers: tuple[str, ...] = ()
    try:
        answers = golds(said.answers)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise ValueError("; ".join(problems))
    shas = [page.sha for page in found]
    content = {**said.notes, "question": said.question, "answers": list(answers), "pages": shas}
    item = Item.make(str(row["id"]), split, said.kind, content)
    # The digest is made before the paths are added: it names what the pages show, not where they lie.
    return replace(item, data=content | {"image_paths": [str(page.path) for page in found]})


def _places(source: DataSource, split: str) -> tuple[Path, ...]:
    """Where a relative image path may lead: from the data set, from the data file, from the current directory."""
    if source.split_mode == "split_dir":
        return Path(source.split_dir), Path(source.split_dir) / split, Path()
    data = Path(source.data_path)
    return data if data.is_dir() else data.parent, Path()


async def _looked(task: Task, agent: Agent, turns: int) -> Attempt:
    """One dialogue about the same images, up to the first reply with an answer in tags."""
    user = Message("user", (Text(task.user), *await parts(task.pictures)))
    messages = (Message("system", task.system), user)
    story, usage, taken = [*opening(task)], Usage(), 0
    while True:
        reply = await agent.chat(messages, max_tokens=task.max_tokens, timeout=task.timeout)
        usage, taken = usage + reply.usage, taken + 1
        story.append(Turn("assistant", reply.text))
        if tagged(reply.text) or taken == turns:
            noted = (*story, CUT_OFF) if reply.finish == "length" else tuple(story)
            return Attempt(reply.text, noted, usage, turns=taken)
        story.append(Turn("user", _AGAIN))
        messages = (*messages, Message("assistant", reply.text), Message("user", _AGAIN))


def _reason(reply: str, predicted: str, best: Nearest, answers: Sequence[str]) -> str:
    said = repr(predicted if len(predicted) <= _SHOWN else predicted[:_SHOWN] + " ...")
    if not predicted:
        return "no answer: the tags are empty"
    form = "" if tagged(reply) else " (no <answer> tags, the last line was taken)"
    if best.anls:
        return f"close: predicted {said}, expected {best.gold[:_SHOWN]!r}, similarity {best.anls:.2f}{form}"
    plain = normalised(predicted)
    held = any(gold and gold in plain for gold in map(normalised, answers))
    return f"wrong: predicted {said}{' (the expected answer is in it, among other words)' * held}{form}"
