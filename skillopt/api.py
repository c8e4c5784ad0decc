"""SkillOpt from Python: `train` and `evaluate`, with names or with functions of your own.

    result = skillopt.train(skill="SKILL.md", data="examples.csv", target=my_agent, optimizer="gpt-5.5")

Both also take a configuration file and dotted settings, as the command line does. Everything goes through the same
configuration, checks and journal; a repeated call continues an unfinished run. Variables come from the environment and
from a `.env` file in the working directory, as they do for the commands.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt import app
from skillopt.agents.function import Function
from skillopt.api_parts import Parts, parts_of, shown_on
from skillopt.config.load import Loaded, Override
from skillopt.errors import ConfigError
from skillopt.evaluation.report import Metric
from skillopt.keyless import settled
from skillopt.results import EvalResult, TrainResult, eval_result, train_result
from skillopt.running import environment, run_anywhere
from skillopt.types import JSON

if TYPE_CHECKING:
    from skillopt.progress import Watcher

log = logging.getLogger(__name__)

Rows = Sequence[Mapping[str, JSON]] | Sequence[tuple[JSON, JSON]]
Data = str | Path | Rows | Mapping[str, Rows]


def train(
    config: str | Path | None = None,
    overrides: Mapping[str, JSON] | None = None,
    *,
    skill: str | Path | None = None,
    data: Data | None = None,
    score: str | Function = "",
    target: str | Function | None = None,
    optimizer: str | Function | None = None,
    input: str = "",
    answer: str = "",
    label: str = "",
    rubric: str = "",
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    run_dir: str | Path | None = None,
    settings: Mapping[str, JSON] | None = None,
    progress: bool | None = None,
    fresh: bool = False,
) -> TrainResult:
    """Train a skill. `settings` are dotted keys for everything else; `progress=None` shows it where somebody looks."""
    named = {"train.num_epochs": epochs, "train.batch_size": batch_size, "train.seed": seed, "env.workers": workers}
    parts = parts_of(
        skill, data, score, target, optimizer, {"input": input, "answer": answer, "label": label, "rubric": rubric}
    )
    prepared = _prepared(config, parts, named, run_dir, {**(overrides or {}), **(settings or {})})
    watcher = prepared.watcher(progress)
    outcome = run_anywhere(
        lambda: app.run_training(
            prepared.loaded,
            environ=prepared.environ,
            fresh=fresh,
            watcher=watcher,
            brought=parts.brought(prepared.loaded.config),
        )
    )
    return train_result(outcome, prepared.metric)


def evaluate(
    config: str | Path | None = None,
    skill: str | Path | None = None,
    overrides: Mapping[str, JSON] | None = None,
    *,
    data: Data | None = None,
    score: str | Function = "",
    target: str | Function | None = None,
    optimizer: str | Function | None = None,
    input: str = "",
    answer: str = "",
    label: str = "",
    rubric: str = "",
    split: str = "all",
    workers: int | None = None,
    run_dir: str | Path | None = None,
    settings: Mapping[str, JSON] | None = None,
    progress: bool | None = None,
    fresh: bool = False,
) -> EvalResult:
    """Score a skill without training it. `optimizer` is only used by the scorer `judge`."""
    parts = parts_of(
        skill, data, score, target, optimizer, {"input": input, "answer": answer, "label": label, "rubric": rubric}
    )
    path = parts.skill_path
    extra = {**(overrides or {}), **(settings or {})}
    prepared = _prepared(config, parts, {"env.workers": workers}, run_dir, extra, training=False)
    watcher = prepared.watcher(progress)
    outcome = run_anywhere(
        lambda: app.run_evaluation(
            prepared.loaded,
            environ=prepared.environ,
            skill=path,
            split=split,
            fresh=fresh,
            watcher=watcher,
            brought=parts.brought(prepared.loaded.config),
        )
    )
    return eval_result(outcome, prepared.metric)


@dataclass(frozen=True, slots=True)
class _Prepared:
    loaded: Loaded
    environ: Mapping[str, str] = field(repr=False)
    survey: tuple[str, ...]

    @property
    def metric(self) -> Metric:
        return "soft" if self.loaded.config.evaluation.gate_metric == "soft" else "hard"

    def watcher(self, progress: bool | None) -> Watcher | None:
        """What the configuration has to say is shown with the progress, and logged where nobody looks at it."""
        shown = shown_on(progress, (*self.loaded.warnings, *self.survey))
        for warning in self.loaded.warnings if shown is None else ():
            log.warning("%s", warning)
        return shown


def _prepared(
    config: str | Path | None,
    parts: Parts,
    named: Mapping[str, JSON],
    run_dir: str | Path | None,
    extra: Mapping[str, JSON],
    *,
    training: bool = True,
) -> _Prepared:
    """One checked configuration; what was said last counts most."""
    if config is None and not parts.has_data:
        raise ConfigError("there is nothing to train on: give data=..., or the path of a configuration file")
    given = {key: value for key, value in named.items() if value is not None}
    where = {"env.out_root": str(run_dir)} if run_dir else {}
    values = {**parts.settings, **given, **where, **extra}
    overrides = tuple(Override(key, value, "argument") for key, value in values.items())
    path, environ = Path(config) if config is not None else None, environment()
    loaded = app.load(path, overrides)
    loaded = settled(
        loaded,
        environ,
        lambda more: app.load(path, (*overrides, *more)),
        parts.benchmark,
        training=training,
    )
    return _Prepared(loaded, environ, parts.survey(loaded.config))
