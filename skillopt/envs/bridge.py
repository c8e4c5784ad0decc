"""An `EnvAdapter` of the public guide as a `Benchmark`: the house's runner drives it item by item.

Each attempt is a rollout of its own, so results are journalled, resumed and missing one by one, and a crash or a hung
call costs one item instead of a batch. Adapters that are slow to start say `items_per_rollout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, cast

from skillopt.agents.base import Agent, Task
from skillopt.agents.function import described
from skillopt.datasets.checks import Splits, checked_items
from skillopt.envs.base import Benchmark, DataSource, Judgement, Options
from skillopt.envs.batch import EnvAdapter, Row
from skillopt.envs.bridging.calls import Rolling
from skillopt.envs.bridging.environments import check, rows_of
from skillopt.envs.bridging.gathering import Gathering
from skillopt.envs.bridging.prompts import templates
from skillopt.envs.bridging.reflecting import Reflecting, overrides_reflect
from skillopt.envs.bridging.results import Graded
from skillopt.envs.bridging.settings import built, options_of
from skillopt.errors import DataError, SkillOptError
from skillopt.model.types import Provider
from skillopt.prompts import Prompts
from skillopt.registry import is_registered_name
from skillopt.skill.examples import Example
from skillopt.types import JSON, Attempt, Item, Score, canonical

_SECONDS, _FOR_RETRIES = 120.0, 600.0


@dataclass(frozen=True, slots=True)
class _Ready:
    """An adapter that has been set up, and how it is called."""

    adapter: EnvAdapter
    rolling: Rolling
    gathering: Gathering | None
    kind: str


class Bridge(Benchmark):
    """`adapter_class` and `Config` are set by `bridged`; one instance serves one run."""

    adapter_class: ClassVar[type[EnvAdapter]]

    def __init__(self, options: Options) -> None:
        self._options = options
        self._settings: Mapping[str, JSON] = {}
        self._home: Path | None = None
        self._made: _Ready | None = None

    @classmethod
    def for_run(cls, options: Mapping[str, JSON], settings: Mapping[str, JSON], home: Path) -> Bridge:
        """`settings` are all of the run's under their flat names; `home` is its folder."""
        bridge = cast("Bridge", cls.configured(options))
        bridge._settings = {**settings, "out_root": str(home)}
        bridge._home = home
        return bridge

    def load(self, source: DataSource) -> Splits:
        """Set the adapter up and take its rows; whatever it raises is told as a problem of the data."""
        given = {**self._settings, **asdict(source)}
        try:
            adapter = built(self.adapter_class, {**given, **dict(self._options)})
            adapter.setup({"env": self.name, **given, **dict(self._options)})
            check(adapter)
            rows = rows_of(adapter, source.seed)
            kinds = adapter.get_task_types()
        except SkillOptError:
            raise
        except Exception as error:
            raise DataError(f"{self.name}: the adapter could not be set up: {described(error)}") from error
        self._made = self._ready_with(adapter, source.seed, kinds[0] if len(kinds) == 1 else self.name)
        return checked_items(rows, make=self.item, required=self.required)

    def _ready_with(self, adapter: EnvAdapter, seed: int, kind: str) -> _Ready:
        seconds = float(self._settings.get("exec_timeout") or _SECONDS)
        seconds += float(self._settings.get("retry_deadline_seconds") or _FOR_RETRIES)
        rolling = Rolling(adapter, self.name, seed, seconds, self._home)
        size = adapter.items_per_rollout
        return _Ready(adapter, rolling, Gathering(rolling, size) if size > 1 else None, kind)

    @property
    def _ready(self) -> _Ready:
        if self._made is None:
            raise SkillOptError(f"{self.name} has to load its data before it can be used")
        return self._made

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        return Item.make(str(row["id"]), split, str(row.get("task_type") or self._ready.kind), row)

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        """The agent is not asked: the adapter's rollout calls the target itself."""
        ready = self._ready
        if ready.gathering is not None:
            outcome = await ready.gathering(item, skill)
        else:
            outcome = (await ready.rolling((item,), skill))[item.id]
        if isinstance(outcome, Attempt):
            return outcome
        raise outcome

    async def judged(self, item: Item, attempt: Attempt, model: Provider | None) -> Judgement:
        score = self.score(item, attempt)
        return Judgement(score, attempt.judging) if isinstance(attempt, Graded) else Judgement(score)

    def score(self, item: Item, attempt: Attempt) -> Score:
        if isinstance(attempt, Graded):
            return attempt.score
        raise SkillOptError(f"{self.name} scores inside its rollout; an attempt made elsewhere cannot be judged")

    def task(self, item: Item, skill: str) -> Task:
        """Not what the target is asked, which only the rollout knows, but of about its length: for quotes."""
        return Task(skill, canonical(item.data))

    def gold(self, item: Item) -> str:
        raise SkillOptError(f"{self.name} keeps its expected answers to itself: the batch form has no gold answer")

    def example(self, item: Item) -> Example | None:
        return None

    def reference(self, item: Item) -> str:
        return self._ready.adapter.build_reference_text(dict(item.data))

    @property
    def prompts(self) -> Prompts:
        """Our prompts, with the adapter's own in their place; the guide's are plain texts, not templates."""
        mode = str(self._settings.get("skill_update_mode") or "")
        return Prompts(None, templates(self._ready.adapter, mode))

    @property
    def reflecting(self) -> Reflecting | None:
        """The adapter's own reflection, where it has one."""
        ready = self._ready
        return Reflecting(ready.adapter, ready.rolling) if overrides_reflect(ready.adapter) else None


def bridged(adapter: type[EnvAdapter], name: str) -> type[Bridge]:
    """The adapter's class as a benchmark class."""
    own: Row = {
        "name": name if is_registered_name(name) else str(vars(adapter).get("name") or adapter.__name__),
        "adapter_class": adapter,
        "Config": options_of(adapter),
        "task_types": (),
        "__module__": adapter.__module__,
        "__doc__": adapter.__doc__,
    }
    return type(f"{adapter.__name__}Bridge", (Bridge,), own)
