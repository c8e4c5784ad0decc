"""What a benchmark is: rows in, tasks out, answers judged. Who carries a task out is the agent's business.

Attempt and score are apart, so a finished attempt can be judged again, and a grader can be checked without a model.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.agents.base import Ability, Agent, Task
from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.checks import Splits, checked_items
from skillopt.envs.batch import EnvAdapter as EnvAdapter
from skillopt.errors import ConfigError
from skillopt.model.types import Provider
from skillopt.skill.examples import Example
from skillopt.types import JSON, Attempt, Item, Score, Usage

_ASKED = ("task_description", "question", "instruction", "input")
_DESCRIBED = 300
_UNUSED = Usage()


class Options(BaseModel):
    """The benchmark's own keys of the `env` section. A key that no field names is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where the rows come from (the `env` section's data keys)."""

    split_mode: str = "ratio"
    split_dir: str = ""
    data_path: str = ""
    split_ratio: str = "2:1:7"
    split_seed: int = 42
    split_output_dir: str = ""
    limit: int = 0
    seed: int = 42


@dataclass(frozen=True, slots=True)
class Judgement:
    """A score, and what it cost where a model gave it."""

    score: Score
    usage: Usage = _UNUSED


class Benchmark(ABC):
    """A benchmark author's obligations.

    1. `name`, `Config`, `task_types` and `required` (the fields every row must have) are class attributes.
    2. `task` and `score` are pure: the same item, skill and attempt give the same result. They do not change the item.
    3. `task` puts the skill into the system text, once, and nothing at all when the skill is empty.
    4. The task never shows the expected answer.
    5. `score` accepts `gold(item)` with hard = 1 and refuses an empty answer with hard = 0. It never raises on an
       answer, however strange; both numbers stay in [0, 1].
    6. `score` puts `fail_reason` into the detail of a failed answer, in words an analyst can use.
    7. `attempt` may hold a conversation or drive a simulator. It lets `ModelError` pass: a call that failed is
       missing data, not a wrong answer.
    8. An item's id is any text; nothing may use it as a file name.
    9. `needs` names what an agent must be able to do; an agent that does not offer it is refused at the start.
    """

    name: ClassVar[str]
    Config: ClassVar[type[Options]] = Options
    task_types: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]] = ("id",)
    needs: ClassVar[frozenset[Ability]] = frozenset()

    @abstractmethod
    def __init__(self, options: Options) -> None:
        """Keep the options; a subclass takes its own `Config`."""

    @classmethod
    def configured(cls, options: Mapping[str, JSON]) -> Benchmark:
        """Build from loose options; every problem is reported at once."""
        try:
            return cls(cls.Config.model_validate(dict(options)))
        except ValidationError as error:
            known = ", ".join(cls.Config.model_fields) or "none"
            found = [f"env.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise ConfigError([*found, f"options of {cls.name}: {known}"]) from error

    def within(self, environ: Mapping[str, str]) -> Benchmark:
        """The benchmark with what it takes from the environment, such as a token; most take nothing."""
        return self

    @abstractmethod
    def task(self, item: Item, skill: str) -> Task:
        """What the target is asked."""

    @abstractmethod
    def score(self, item: Item, attempt: Attempt) -> Score:
        """How good the attempt is."""

    @abstractmethod
    def gold(self, item: Item) -> str:
        """A perfect reply, from which the grader is checked before any model is paid."""

    def describe(self, item: Item) -> str:
        """What the item asks, in a line or two, for reports and for the heads of trajectories."""
        said = next((item.data[name] for name in _ASKED if item.data.get(name)), "")
        return " ".join(str(said).split())[:_DESCRIBED]

    def reference(self, item: Item) -> str:
        """Material on an item that analysts may see and the target must not, such as a solution; "" = none."""
        return str(item.data.get("reference_text") or "")

    def example(self, item: Item) -> Example | None:
        """The item as a worked example for a skill document; None where one exchange cannot show the task."""
        shown = Example(self.task(item, "").user, self.gold(item))
        return shown if shown.fits else None

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        """Let the agent try the item once."""
        return await agent.run(self.task(item, skill))

    async def judged(self, item: Item, attempt: Attempt, model: Provider | None) -> Judgement:
        """`score`, for benchmarks whose judging takes time or a model; `model` is the optimizer's, if there is one."""
        return Judgement(self.score(item, attempt))

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        """Make an item of a row; raise ValueError to refuse the row, saying why."""
        return Item.make(str(row["id"]), split, str(row.get("task_type") or self.task_types[0]), row)

    def rows(self, source: DataSource) -> dict[str, list[dict[str, JSON]]]:
        """The raw rows of the three splits."""
        loader = SplitDataLoader(**asdict(source))
        loader.setup({"env": self.name})
        return {"train": loader.train_items, "val": loader.val_items, "test": loader.test_items}

    def load(self, source: DataSource) -> Splits:
        """The checked items of the three splits."""
        return checked_items(self.rows(source), make=self.item, required=self.required)

    @property
    def prompts_dir(self) -> Path | None:
        """The `prompts` folder beside the benchmark's module, when there is one."""
        home = sys.modules[type(self).__module__].__file__
        found = Path(home).parent / "prompts" if home else None
        return found if found and found.is_dir() else None


def grader_problems(benchmark: Benchmark, items: Iterable[Item]) -> tuple[str, ...]:
    """What is wrong with a grader, judged on real items: it must accept the gold answer and refuse an empty one."""
    found: list[str] = []
    for item in items:
        if benchmark.score(item, Attempt(benchmark.gold(item), ())).hard < 1.0:
            found.append(f"{benchmark.name}: the grader refuses the expected answer of item {item.id!r}")
        if benchmark.score(item, Attempt("", ())).passed:
            found.append(f"{benchmark.name}: the grader accepts an empty answer for item {item.id!r}")
    return tuple(found)
