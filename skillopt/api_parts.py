"""From the arguments of `skillopt.train` to settings, and to the parts that no configuration can name.

A value that is handed over leaves its digest in the configuration, so that a run is only ever continued with the same
data, skill and functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from skillopt import app
from skillopt.agents.function import Function, FunctionAgent, FunctionModel
from skillopt.brought import Brought
from skillopt.config.schema import Config
from skillopt.config.words import OptimizerBackend, TargetBackend
from skillopt.envs.own.adapter import Own, OwnOptions
from skillopt.envs.own.call_score import function_name
from skillopt.envs.own.defaults import defaults_for
from skillopt.errors import ConfigError
from skillopt.evaluation.survey import survey
from skillopt.skill.document import Skill
from skillopt.types import JSON, canonical, digest

if TYPE_CHECKING:
    from skillopt.progress import Watcher

_BACKENDS = {"target": TargetBackend, "optimizer": OptimizerBackend}


@dataclass(frozen=True, slots=True)
class Parts:
    """What was handed over: as settings where they can say it, as values where they cannot."""

    settings: Mapping[str, JSON]
    benchmark: Own | None = None
    skill: Skill | None = None
    target: Function | None = None
    optimizer: Function | None = None

    @property
    def has_data(self) -> bool:
        return self.benchmark is not None

    @property
    def skill_path(self) -> Path:
        """Where the skill to be scored is; only a name when its text was handed over."""
        if not self.settings.get("env.skill_init"):
            raise ConfigError("there is nothing to score: give skill=..., a path or the text itself")
        return Path(str(self.settings["env.skill_init"]))

    def brought(self, config: Config) -> Brought:
        target, optimizer = self.target, self.optimizer
        return Brought(
            benchmark=self.benchmark,
            skill=self.skill,
            target=FunctionAgent(target, timeout=config.env.exec_timeout) if target else None,
            optimizer=FunctionModel(optimizer, config.model.optimizer) if optimizer else None,
        )

    def survey(self, config: Config) -> tuple[str, ...]:
        if self.benchmark is None:
            return ()
        given = bool(config.env.options.get("scorer"))
        return survey(self.benchmark, app.data_source(config, Path()), scorer_given=given)


def parts_of(
    skill: str | Path | None,
    data: object,
    score: str | Function,
    target: str | Function | None,
    optimizer: str | Function | None,
    columns: Mapping[str, str],
) -> Parts:
    settings: dict[str, JSON] = {}
    document = _skill(skill, settings)
    benchmark = _benchmark(data, score, columns, settings) if data is not None else None
    if data is None and (score or any(columns.values())):
        raise ConfigError(
            "score, input, answer, label and rubric belong to data=...; with a configuration file use settings"
        )
    functions = {role: _role(role, given, settings) for role, given in (("target", target), ("optimizer", optimizer))}
    return Parts(settings, benchmark, document, functions["target"], functions["optimizer"])


def _skill(skill: str | Path | None, settings: dict[str, JSON]) -> Skill | None:
    """A path, or the text itself: a text has several lines or does not look like a file name."""
    if skill is None:
        return None
    if isinstance(skill, Path) or ("\n" not in skill and (skill.endswith(".md") or Path(skill).exists())):
        settings["env.skill_init"] = str(skill)
        return None
    settings["env.skill_init"] = f"python:{digest(skill)}"
    return Skill.parse(skill)


def _benchmark(data: object, score: str | Function, columns: Mapping[str, str], settings: dict[str, JSON]) -> Own:
    function = None if isinstance(score, str) else score
    scorer = score if isinstance(score, str) else f"python:{function_name(score)}"
    options = {**{k: v for k, v in columns.items() if v}, **({"scorer": scorer} if scorer else {})}
    path, rows = (str(data), None) if isinstance(data, (str, Path)) else ("", _rows(data))
    benchmark = Own(OwnOptions.model_validate(options), rows=rows, function=function)
    settings |= defaults_for(benchmark, path) | {"env.name": "own"} | {f"env.{k}": v for k, v in options.items()}
    settings["env.data_path"] = path or f"python:{digest(canonical(rows))}"
    return benchmark


def _rows(data: object) -> Mapping[str, Sequence[dict[str, JSON]]] | Sequence[dict[str, JSON]]:
    """Rows, pairs of input and answer, or a mapping from split to either."""
    if isinstance(data, Mapping):
        splits = cast("Mapping[str, Sequence[JSON]]", data)
        if missing := {"train", "val", "test"} - splits.keys():
            raise ConfigError(f"data: a mapping needs train, val and test; {', '.join(sorted(missing))} is missing")
        return {name: [_row(row) for row in splits[name]] for name in ("train", "val", "test")}
    return [_row(row) for row in cast("Sequence[JSON]", data)]


def _row(row: JSON) -> dict[str, JSON]:
    if isinstance(row, Mapping):
        return dict(cast("Mapping[str, JSON]", row))
    if isinstance(row, (tuple, list)) and len(cast("Sequence[JSON]", row)) == 2:
        return {"input": row[0], "answer": row[1]}
    raise ConfigError(f"data: a row is a mapping, or a pair of input and answer; found {type(row).__name__}")


def _role(role: str, given: str | Function | None, settings: dict[str, JSON]) -> Function | None:
    """A function, or a model: its name, a backend's name, or both as `backend:model`."""
    if given is None:
        return None
    if callable(given):
        settings[f"model.{role}"] = f"function:{function_name(given)}"
        return given
    backend, _, model = given.partition(":")
    if backend in get_args(get_args(_BACKENDS[role])[0]):
        settings[f"model.{role}_backend"] = backend
        settings |= {f"model.{role}": model} if model else {}
    else:
        settings[f"model.{role}"] = given
    return None


def shown_on(progress: bool | None, lines: Sequence[str]) -> Watcher | None:
    """A display where somebody looks: a terminal or a notebook, or wherever it is asked for."""
    from rich.console import Console

    from skillopt.progress import PlainLines, pick_watcher

    console = Console()
    if progress is False or (progress is None and not (console.is_terminal or console.is_jupyter)):
        return None
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return PlainLines(console) if console.is_jupyter else pick_watcher(console, plain=False)
