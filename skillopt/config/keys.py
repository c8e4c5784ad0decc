"""The settings as a table: dotted key -> what the loader must know about it. Derived from the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType

from pydantic import BaseModel, SecretStr

from skillopt.config.annotations import TEXTUAL, atoms
from skillopt.config.names import ALIASES, IGNORED, flat_name
from skillopt.config.schema import SECTION_TYPES
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Key:
    """`text` keys keep the text as it was written; `boolean` keys understand words on the command line."""

    path: str
    text: bool
    boolean: bool
    nullable: bool
    secret: bool
    help: str


def keys_of(model: type[BaseModel], section: str) -> dict[str, Key]:
    """The keys of one section (or of a benchmark's options, whose section is `env`)."""
    return {
        f"{section}.{name}": _key(f"{section}.{name}", field.annotation, field.description or "")
        for name, field in model.model_fields.items()
    }


def _key(path: str, annotation: JSON, help: str) -> Key:
    parts = atoms(annotation)
    solid = parts - {NoneType}
    return Key(
        path=path,
        text=bool(solid) and solid <= TEXTUAL,
        boolean=solid == frozenset({bool}),
        nullable=NoneType in parts,
        secret=SecretStr in parts,
        help=help,
    )


KEYS: Mapping[str, Key] = MappingProxyType(
    {
        path: key
        for section, model in SECTION_TYPES.items()
        for path, key in keys_of(model, section).items()
        if path != "env.options"
    }
)

FLAT_NAMES: Mapping[str, str] = MappingProxyType(
    {flat_name(path): path for path in (*(alias for alias, _ in ALIASES), *IGNORED, *KEYS)}
    | {"backend": "model.backend"}
)
"""Flat name -> dotted key."""
