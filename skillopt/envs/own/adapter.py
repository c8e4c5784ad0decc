"""`own`: a skill, a file of examples, a scorer by name. The skill is the system message, the input the user message.

Everything that decides a result (the prompt, the scorer, the rubric) is in the item, so a change of any of them names
other work, and a run never continues with half of its answers judged another way.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from skillopt.agents.base import Task
from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.sources import Placed, read_placed
from skillopt.datasets.splits import NAMES, materialise, split_stratified
from skillopt.envs.base import Benchmark, DataSource, Judgement, Options
from skillopt.envs.own.call_score import Called, ScoreFunction
from skillopt.envs.own.columns import Wanted
from skillopt.envs.own.grading import Case, Grader, as_text
from skillopt.envs.own.judge import Judge, rubric_text
from skillopt.envs.own.scoring import ANSWERLESS, JUDGE, check, grader, kind_of, pass_mark
from skillopt.envs.own.table import Reading, Row, Table, label_of, read_table
from skillopt.errors import ConfigError, DataError
from skillopt.model.types import Provider
from skillopt.types import JSON, Attempt, Item, Score, digest

IN_MEMORY = "the data"
_SLOT = re.compile(r"\{([^{}\n]+)\}")


class OwnOptions(Options):
    """The keys of `env` that say what the columns mean and how outputs are scored."""

    input: str = Field(default="", description="Column with the input, or several with commas; blank = guess")
    answer: str = Field(default="", description="Column with the expected answer; blank = guess")
    label: str = Field(default="", description="Column by which the splits are balanced; blank = the answer, if few")
    scorer: str = Field(default="", description="How outputs are scored; blank = what fits the answers")
    rubric: str = Field(default="", description="What the scorer judge looks for: a text, or a .md or .txt file")
    template: str = Field(default="", description="File with the user message; {column} stands for a column's text")
    max_completion_tokens: int = Field(default=16384, ge=1, description="Output limit of one attempt")


class Own(Benchmark):
    """`rows` (a list, or one list for each split) and `function` are what Python callers hand over themselves."""

    name: ClassVar[str] = "own"
    Config: ClassVar[type[Options]] = OwnOptions
    task_types: ClassVar[tuple[str, ...]] = ("own",)
    required: ClassVar[tuple[str, ...]] = ("id", "input")

    def __init__(
        self,
        options: OwnOptions,
        *,
        rows: Mapping[str, Sequence[Row]] | Sequence[Row] | None = None,
        function: ScoreFunction | None = None,
    ) -> None:
        self._options = options
        self._rows = rows
        self._function = function
        self._called = Called(function) if function else None
        if options.scorer and function is None:
            check(options.scorer)
        self._rubric = rubric_text(options.rubric) if kind_of(options.scorer) == JUDGE else ""
        self._template = _template(options.template)

    def already_cut(self, source: DataSource) -> bool:
        """Whether the splits were made elsewhere."""
        return isinstance(self._rows, Mapping) or (self._rows is None and source.split_mode == "split_dir")

    def where(self, source: DataSource) -> str:
        """What the data is called in messages."""
        return IN_MEMORY if self._rows is not None else source.data_path

    def table(self, source: DataSource) -> Table:
        """The rows of a single source, mapped and checked."""
        if self._rows is not None and not isinstance(self._rows, Mapping):
            placed = [Placed(f"item {n}", dict(row)) for n, row in enumerate(self._rows)]
            return read_table(placed, self._reading(IN_MEMORY))
        if not source.data_path:
            raise DataError("there is no data: name a file of examples with --data (env.data_path).")
        return read_table(_placed(Path(source.data_path)), self._reading(source.data_path))

    def cut(self, table: Table, source: DataSource) -> dict[str, list[Row]]:
        """The table in three: balanced by label, the same for the same rows, ratio and seed."""
        if len(table.rows) < len(NAMES):
            raise DataError(
                f"{self.where(source)}: {len(table.rows)} examples cannot be cut into train, validation and "
                "test; give at least 20, better 100."
            )
        labels = [label_of(row) for row in table.rows]
        made = split_stratified(table.rows, labels, source.split_ratio, source.split_seed)
        if source.split_output_dir:
            origin = Path(source.data_path or "in_memory").resolve()
            folder = Path(source.split_output_dir)
            materialise(made, folder, source=origin, ratio=source.split_ratio, seed=source.split_seed)
        cut = {"train": made.train, "val": made.val, "test": made.test}
        return {name: list(rows[: source.limit] if source.limit else rows) for name, rows in cut.items()}

    def rows(self, source: DataSource) -> dict[str, list[Row]]:
        given = self._rows
        if isinstance(given, Mapping):
            return self._mapped({name: [dict(row) for row in rows] for name, rows in given.items()})
        if given is None and source.split_mode == "split_dir":
            loader = SplitDataLoader(split_mode="split_dir", split_dir=source.split_dir, limit=source.limit)
            loader.setup({"env": self.name})
            return self._mapped({"train": loader.train_items, "val": loader.val_items, "test": loader.test_items})
        return self.cut(self.table(source), source)

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        data = dict(row) | {"prompt": self._prompt(row), "scorer": self._options.scorer or row.get("scorer") or "exact"}
        if self._rubric:
            data["rubric"] = digest(self._rubric)
        return Item.make(str(row["id"]), split, self.task_types[0], data)

    def task(self, item: Item, skill: str) -> Task:
        system = skill if skill.strip() else ""
        asked = item.data["input"] if not self._template else None
        return Task(system, item.data["prompt"], max_tokens=self._options.max_completion_tokens, value=asked)

    def score(self, item: Item, attempt: Attempt) -> Score:
        if not attempt.answer.strip():
            return _noted(Score(0.0, 0.0, {"fail_reason": "no answer"}), _case(item))
        return _noted(self._grader(item).grade(attempt.answer, _case(item)), _case(item))

    async def judged(self, item: Item, attempt: Attempt, model: Provider | None) -> Judgement:
        """A rubric needs a model; a function of the user's may take its time, so it runs beside the loop."""
        if self._called or kind_of(self._options.scorer) == "python":
            return Judgement(await asyncio.to_thread(self.score, item, attempt))
        if not self._rubric or not attempt.answer.strip():
            return await super().judged(item, attempt, model)
        if model is None:
            raise ConfigError("env.scorer: judge needs an optimizer model to grade with")
        judge = Judge(self._rubric, pass_mark(self._options.scorer))
        made = await judge.grade(model, item.data["prompt"], attempt.answer, _case(item))
        return Judgement(_noted(made.score, _case(item)), made.usage)

    def gold(self, item: Item) -> str:
        return next(iter(_case(item).golds), "")

    def _grader(self, item: Item) -> Grader:
        return self._called or grader(item.data["scorer"])

    def _reading(self, where: str) -> Reading:
        options = self._options
        answerless = self._function is not None or kind_of(options.scorer) in ANSWERLESS
        wanted = Wanted(options.input, options.answer, options.label, answerless)
        return Reading(where, wanted, options.scorer, self._function)

    def _mapped(self, rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
        """Splits that were made elsewhere; they are read together, so that one column means one thing."""
        placed = [Placed(f"{name} item {n}", row) for name, found in rows.items() for n, row in enumerate(found)]
        table = iter(read_table(placed, self._reading("the splits"), distinct=False).rows)
        return {name: [next(table) for _ in found] for name, found in rows.items()}

    def _prompt(self, row: Mapping[str, JSON]) -> str:
        value = row["input"]
        named: dict[str, JSON] = {**dict(row.get("columns") or {}), **(value if isinstance(value, dict) else {})}
        if self._template:
            return _filled(self._template, {**named, "input": _laid_out(value)}, self._options)
        return _laid_out(value)


def _case(item: Item) -> Case:
    data = item.data
    row = {**dict(data.get("columns") or {}), "id": item.id, "input": data["input"], "answer": data.get("answer")}
    return Case(data.get("answer"), tuple(data.get("choices") or ()), row)


def _noted(score: Score, case: Case) -> Score:
    """The score with the expected answer beside it, for the analysts."""
    return Score(score.hard, score.soft, {"gold_answers": list(case.golds), **score.detail})


def _laid_out(value: JSON) -> str:
    """One column as it is; several under their names."""
    if not isinstance(value, dict):
        return as_text(value)
    return "\n\n".join(f"{name}:\n{as_text(text)}" for name, text in value.items())


def _template(name: str) -> str:
    if not name:
        return ""
    try:
        text = Path(name).read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"env.template: the file {name} cannot be read: {error}") from error
    if not _SLOT.search(text):
        raise ConfigError(f"env.template: {name} never uses a column: write {{input}} where the input belongs")
    return text


def _filled(template: str, values: Mapping[str, JSON], options: OwnOptions) -> str:
    """Put the columns into the template. Braces around anything else stay, but the answer must never be shown."""
    names = {found[1] for found in _SLOT.finditer(template)}
    if hidden := names & {"answer", options.answer} - values.keys() - {""}:
        raise ValueError(f"the template shows the answer ({{{hidden.pop()}}}); remove it")
    if not names & values.keys():
        raise ValueError(f"the template uses none of the columns {', '.join(values)}")
    return _SLOT.sub(lambda found: as_text(values[found[1]]) if found[1] in values else found[0], template)


def _placed(path: Path) -> list[Placed]:
    """One file, or the only data file of a folder."""
    if not path.is_dir():
        return read_placed(path)
    from skillopt.datasets.sources import data_files

    files = data_files(path)
    if len(files) != 1:
        raise DataError(f"{path} must hold exactly one data file; name the file itself.")
    return read_placed(files[0])
