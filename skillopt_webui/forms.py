"""The launch form, made from the configuration schema: names, help texts, choices and defaults are the schema's own.

Credentials have no field: they come from the environment, here as on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo

from skillopt.config.annotations import atoms
from skillopt.config.keys import KEYS
from skillopt.config.load import Loaded
from skillopt.config.schema import SECTION_TYPES, is_secret
from skillopt.types import JSON

EVERYDAY = (
    "model.target", "model.optimizer", "model.backend", "env.split_dir", "env.skill_init", "train.num_epochs",
    "train.batch_size", "optimizer.learning_rate", "optimizer.lr_scheduler", "evaluation.gate_metric", "env.limit",
    "env.workers", "train.seed", "budget.max_cost_usd",
)  # fmt: skip
"""What most people change; everything else is below, section by section."""
_OURS = frozenset({"env.out_root", "env.options", "env.name"})
_TITLES = {
    "model": "Models", "train": "Training", "gradient": "Backward pass", "optimizer": "Optimizer",
    "evaluation": "Validation", "env": "Benchmark and data", "budget": "Budget",
}  # fmt: skip

Kind = Literal["text", "whole", "number", "choice"]


@dataclass(frozen=True, slots=True)
class Field:
    """One setting. `value` is what the chosen configuration says, as one would write it."""

    key: str
    name: str
    help: str
    kind: Kind
    value: str
    choices: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Form:
    everyday: tuple[Field, ...]
    sections: tuple[Section, ...]


def form_for(loaded: Loaded | None) -> Form:
    """All settings with the values of a configuration; without one, with their defaults."""
    values = _values(loaded)
    origin = {key: p.source for key, p in loaded.provenance.items() if p.given} if loaded else {}
    fields = {key: _field(key, info, values.get(key), origin.get(key, "")) for key, info in _schema().items()}
    options = _options(loaded, values, origin)
    sections = [
        Section(
            name,
            _TITLES.get(name, name),
            tuple(f for k, f in fields.items() if k.startswith(f"{name}.") and k not in EVERYDAY),
        )
        for name in SECTION_TYPES
    ]
    if options:
        sections.append(Section("options", "Options of the benchmark", options))
    return Form(tuple(fields[key] for key in EVERYDAY if key in fields), tuple(sections))


def _schema() -> dict[str, FieldInfo]:
    """Every setting that has a field here."""
    return {
        f"{section}.{name}": info
        for section, model in SECTION_TYPES.items()
        for name, info in model.model_fields.items()
        if f"{section}.{name}" not in _OURS and not is_secret(f"{section}.{name}")
    }


def _values(loaded: Loaded | None) -> Mapping[str, JSON]:
    public = loaded.config.public() if loaded else {}
    return {f"{s}.{k}": v for s, rows in public.items() for k, v in cast("Mapping[str, JSON]", rows).items()}


def _field(key: str, info: FieldInfo, value: JSON, source: str) -> Field:
    kind, choices = _kind(info.annotation)
    given = value if value is not None else info.get_default()
    return Field(
        key, key.partition(".")[2].replace("_", " "), info.description or "", kind, written(given), choices, source
    )


def _options(loaded: Loaded | None, values: Mapping[str, JSON], origin: Mapping[str, str]) -> tuple[Field, ...]:
    if loaded is None:
        return ()
    keys = [k for k in values if k.startswith("env.") and k not in KEYS and k not in _OURS and not is_secret(k)]
    help_of = loaded.option_help
    return tuple(
        Field(
            k,
            k.partition(".")[2].replace("_", " "),
            help_of.get(k, ""),
            "text",
            written(values[k]),
            (),
            origin.get(k, ""),
        )
        for k in keys
    )


def _kind(annotation: JSON) -> tuple[Kind, tuple[str, ...]]:
    words = _literals(annotation)
    if words:
        return "choice", words
    solid = atoms(annotation) - {NoneType}
    if solid == frozenset({bool}):
        return "choice", ("true", "false")
    if solid == frozenset({int}):
        return "whole", ()
    return ("number", ()) if solid and solid <= frozenset({int, float}) else ("text", ())


def _literals(annotation: JSON) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return tuple(str(value) for value in get_args(annotation))
    found = [_literals(part) for part in get_args(annotation)]
    return next((words for words in found if words), ())


def written(value: JSON) -> str:
    """A value as one would write it in the form; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        parts = cast("tuple[JSON, ...]", tuple(value))
        return (":" if all(isinstance(p, int) for p in parts) else ",").join(map(str, parts))
    return json.dumps(value, ensure_ascii=False, default=str)
