"""Flags for one's own skill and examples, and which configuration file a command without `--config` means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from skillopt.config.load import Override
    from skillopt.types import JSON

HERE = Path("skillopt.yaml")
"""The file that a command without `--config` reads, when it is there."""

SHIPPED = {
    name: Path(__file__).parent.parent / "envs" / "quickstart" / f"{name}.yaml" for name in ("passages", "tickets")
}
QUICKSTART = SHIPPED["passages"]
"""What `skillopt train` runs when it is told nothing: a shipped task on a small model of one's own."""

_KEYS = {
    "own_skill": ("--skill", "env.skill_init"),
    "data": ("--data", "env.data_path"),
    "input": ("--input", "env.input"),
    "answer": ("--answer", "env.answer"),
    "label": ("--label", "env.label"),
    "scorer": ("--scorer", "env.scorer"),
    "rubric": ("--rubric", "env.rubric"),
    "template": ("--template", "env.template"),
}


def own_data(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say what one's own examples mean."""
    for decorate in (
        click.option("--template", metavar="FILE", help="User message of your own; {column} stands for a column."),
        click.option("--rubric", metavar="TEXT", help="What the scorer judge looks for; a text or a .md file."),
        click.option("--scorer", metavar="NAME", help="exact, contains, choice, number, f1, anls, json_fields, regex, "
                     "python:module.function or judge."),
        click.option("--label", metavar="COLUMN", help="Column by which the splits are balanced."),
        click.option("--answer", metavar="COLUMN", help="Column with the expected answer."),
        click.option("--input", metavar="COLUMN", help="Column with the input; several with commas."),
        click.option("--data", metavar="FILE", help="Your examples: .csv, .jsonl or .json."),
    ):  # fmt: skip
        command = decorate(command)
    return command


def own_skill(command: Callable[..., None]) -> Callable[..., None]:
    """The skill to train; with --data no configuration file is needed."""
    return click.option("--skill", "own_skill", metavar="FILE", help="Your skill document, as SKILL.md.")(command)


@dataclass(frozen=True, slots=True)
class Mine:
    """What was said of one's own skill and data: flag by flag, as overrides."""

    values: dict[str, JSON]

    @property
    def has_data(self) -> bool:
        return "data" in self.values

    def overrides(self) -> tuple[Override, ...]:
        from skillopt.config.load import Override

        found = [Override(_KEYS[name][1], value, _KEYS[name][0]) for name, value in self.values.items()]
        return (*found, Override("env.name", "own", "--data")) if self.has_data else tuple(found)

    def fitting(self, given: Iterable[Override]) -> tuple[Override, ...]:
        """Defaults that fit the examples, for the keys that nobody gave."""
        from skillopt.config.keys import FLAT_NAMES
        from skillopt.config.load import Override
        from skillopt.envs.own.adapter import Own, OwnOptions
        from skillopt.envs.own.defaults import defaults_for

        options = {k: str(v) for k, v in self.values.items() if k in OwnOptions.model_fields}
        values = defaults_for(Own(OwnOptions.model_validate(options)), str(self.values["data"]))
        said = {FLAT_NAMES.get(override.path, override.path) for override in given}
        return tuple(Override(key, value, "default for --data") for key, value in values.items() if key not in said)


def taken(flags: dict[str, JSON]) -> Mine:
    """Take the own flags out of a command's flags."""
    return Mine({name: value for name in _KEYS if (value := flags.pop(name, None)) is not None})


def chosen_file(config: Path | None, mine: Mine, otherwise: Path | None = None) -> Path | None:
    """`--config`, else `./skillopt.yaml`, else none, which is enough when --data says what to train on."""
    if config is not None:
        return config
    if HERE.is_file():
        return HERE
    if mine.has_data:
        return None
    if otherwise is not None and not mine.values:
        return otherwise
    raise click.UsageError(
        "there is nothing to train on. Give your own skill and examples (--skill SKILL.md --data examples.csv), or a "
        f"configuration (--config FILE), or write {HERE} here with `skillopt init`."
    )
