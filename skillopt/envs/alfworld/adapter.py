"""ALFWorld as a benchmark: a household goal, a text game, one command at a time.

Whether the goal is reached is the engine's word. Where the games lie does not enter an item's name; their content does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import ClassVar

from pydantic import Field

from skillopt.agents.base import Ability, Agent, Task
from skillopt.datasets.checks import Splits, checked_items
from skillopt.envs.alfworld.episode import Rules, played
from skillopt.envs.alfworld.games import TYPES, MissingGame, found, kind_of, notes, tree, tree_rows
from skillopt.envs.alfworld.outcome import Outcome, outcome_in
from skillopt.envs.alfworld.pool import Limits, Pool
from skillopt.envs.alfworld.reference import reference_text
from skillopt.envs.base import Benchmark, DataSource, Options
from skillopt.envs.frame import Frame
from skillopt.errors import ConfigError, DataError
from skillopt.model.types import Completion, Message
from skillopt.skill.examples import Example
from skillopt.types import JSON, Attempt, Item, Score

DATA_VARIABLE = "ALFWORLD_DATA"
_NOTHING: Mapping[str, str] = MappingProxyType({})
_TODO = (
    f"The published games come with `alfworld-download`: set {DATA_VARIABLE} or env.data_root to their folder. Or make "
    "a few: `skillopt data prepare alfworld --mini --out data/alfworld_mini`, and set env.split_dir to that folder."
)


class AlfworldOptions(Options):
    max_steps: int = Field(default=50, ge=1, description="Steps of an episode; a reply without a command is one, too")
    history_window: int = Field(default=2, ge=0, description="Earlier steps that a step is shown")
    max_completion_tokens: int = Field(default=16384, ge=1)
    max_api_workers: int = Field(default=0, ge=0, description="Model calls at the same time; 0 = one for each episode")
    data_root: str = Field(default="", description=f"Folder that game paths are relative to; blank = ${DATA_VARIABLE}")
    engine_timeout: float = Field(default=120.0, gt=0, description="Seconds the engine may take for one command")


@dataclass(frozen=True, slots=True)
class Desk:
    """The engine processes, and the door that bounds model calls under way."""

    engines: Pool
    calls: AbstractAsyncContextManager[None]


class Alfworld(Benchmark):
    """`environ` may name the folder of games; see `AlfworldOptions`."""

    name: ClassVar[str] = "alfworld"
    Config: ClassVar[type[Options]] = AlfworldOptions
    task_types: ClassVar[tuple[str, ...]] = TYPES
    required: ClassVar[tuple[str, ...]] = ("id", "gamefile")
    needs: ClassVar[frozenset[Ability]] = frozenset({"conversation"})

    def __init__(self, options: AlfworldOptions, *, environ: Mapping[str, str] = _NOTHING) -> None:
        self._options = options
        self._environ = environ
        self._system = Frame.beside(__file__, max_steps=str(options.max_steps))
        self._desk: Desk | None = None

    def within(self, environ: Mapping[str, str]) -> Alfworld:
        return Alfworld(self._options, environ=environ)

    def rows(self, source: DataSource) -> dict[str, list[dict[str, JSON]]]:
        source = replace(source, split_dir=self._expanded(source.split_dir))
        place = source.split_dir or next(map(str, self._roots()), "")
        home = tree(Path(place)) if place and source.split_mode == "split_dir" else None
        return tree_rows(home, source.limit) if home else super().rows(source)

    def load(self, source: DataSource) -> Splits:
        if find_spec("textworld") is None or find_spec("fast_downward") is None:
            raise ConfigError(
                'ALFWorld needs its game engine: pip install "skillopt[alfworld]" (compiles for a minute)'
            )
        folders = [Path(self._expanded(place)) for place in (source.split_dir, source.data_path) if place]
        places = (*self._roots(), *(each if each.is_dir() else each.parent for each in folders), Path())
        missing: list[str] = []

        def make(row: Mapping[str, JSON], split: str) -> Item:
            try:
                return _item(row, split, places)
            except MissingGame:
                missing.append(str(row["gamefile"]))
                raise

        try:
            return checked_items(self.rows(source), make=make, required=self.required)
        except DataError as error:
            raise DataError((*error.problems, *((_TODO,) if missing else ()))) from error

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        """A single row; its game is looked for in the data root and the current directory."""
        return _item(row, split, (*self._roots(), Path()))

    def task(self, item: Item, skill: str) -> Task:
        user = f"Task: {item.data['goal']}\n\nThe place is shown step by step."
        return Task(self._system(skill), user, max_tokens=self._options.max_completion_tokens)

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        task = self.task(item, skill)
        rules = Rules(self._options.max_steps, self._options.history_window)

        desk = self.desk

        async def ask(user: str) -> Completion:
            messages = (Message("system", task.system), Message("user", user))
            async with desk.calls:
                return await agent.chat(messages, max_tokens=task.max_tokens, timeout=task.timeout)

        async with desk.engines.play(Path(item.data["path"])) as game:
            return await played(game, ask, task, rules)

    def score(self, item: Item, attempt: Attempt) -> Score:
        outcome = outcome_in(attempt.answer)
        if outcome is None:
            return Score(0.0, 0.0, {"fail_reason": "there is no record of an episode"})
        detail: dict[str, JSON] = {
            "ended": outcome.cause or "won",
            "steps": outcome.steps,
            "unreadable_replies": outcome.unreadable,
            "unknown_commands": outcome.unknown,
        }
        if outcome.won:
            return Score(1.0, 1.0, detail)
        return Score(0.0, 0.0, detail | {"fail_reason": outcome.fail_reason})

    def gold(self, item: Item) -> str:
        return str(Outcome(True, len(item.data["solution"])))

    def describe(self, item: Item) -> str:
        return str(item.data["goal"])

    def reference(self, item: Item) -> str:
        return reference_text(notes(Path(item.data["path"])), item.data["solution"])

    def example(self, item: Item) -> Example | None:
        """None: one exchange is not an episode."""
        return None

    @property
    def desk(self) -> Desk:
        """What the episodes of the running loop share; it ends with the loop."""
        if self._desk is None or self._desk.engines.loop is not asyncio.get_running_loop():
            calls = self._options.max_api_workers
            limits = Limits(timeout=self._options.engine_timeout)
            self._desk = Desk(Pool(limits), asyncio.Semaphore(calls) if calls else nullcontext())
        return self._desk

    def _roots(self) -> tuple[Path, ...]:
        root = self._expanded(self._options.data_root or self._environ.get(DATA_VARIABLE, ""))
        return (Path(root).expanduser(),) if root else ()

    def _expanded(self, text: str) -> str:
        return Template(text.strip()).safe_substitute(self._environ)


def _item(row: Mapping[str, JSON], split: str, places: Sequence[Path]) -> Item:
    game = found(str(row["gamefile"]), places)
    told = row.get("task_type") or notes(game.path).get("task_type") or game.path.parent.parent.name
    kind = kind_of(str(told))
    if kind not in TYPES:
        raise ValueError(f"the task type {kind!r} is none of {', '.join(TYPES)}")
    item = Item.make(str(row["id"]), split, kind, {"game": game.sha, "goal": game.goal})
    where = {"gamefile": row["gamefile"], "path": str(game.path), "solution": list(game.solution)}
    return replace(item, data={**item.data, **where})
