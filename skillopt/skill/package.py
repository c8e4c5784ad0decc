"""A skill as a package: `SKILL.md` with YAML front matter.

Front matter belongs to whoever publishes the skill (its name and description decide when an agent loads it), so
training carries it along byte for byte and only `export` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import yaml

from skillopt.errors import SkillFileError
from skillopt.types import JSON

_BLOCK = re.compile(r"---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# PyYAML's value constructors let plain Python errors through (`!!bool x`, `2024-13-41`, deep nesting).
_YAML_ERRORS = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The leading block as it stands in the file (`raw`, with both fences) and as values."""

    raw: str
    fields: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Packaged:
    """A text taken apart into its front matter, if it has one, and the rest."""

    front: FrontMatter | None
    body: str


def split_front_matter(text: str) -> Packaged:
    """Split off a leading `---` block if it holds a YAML mapping; two rules around prose are not front matter."""
    block = _BLOCK.match(text)
    if block is None:
        return Packaged(None, text)
    try:
        fields = yaml.safe_load(block["yaml"])
    except _YAML_ERRORS:
        return Packaged(None, text)
    if not isinstance(fields, dict):
        return Packaged(None, text)
    named = {str(k): v for k, v in cast("dict[JSON, JSON]", fields).items()}
    return Packaged(FrontMatter(block[0], named), text[block.end() :])


def export(skill_text: str, name: str, description: str) -> str:
    """The text as a `SKILL.md`: other fields of existing front matter are kept, and so is an already right block."""
    check_package(name, description)
    parted = split_front_matter(skill_text)
    old = parted.front.fields if parted.front else {}
    wanted = {"name": name, "description": description}
    if parted.front and all(old.get(k) == v for k, v in wanted.items()):
        return skill_text
    fields = wanted | {k: v for k, v in old.items() if k not in wanted}
    block = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
    body = parted.body.lstrip("\r\n")
    return f"---\n{block}---\n\n{body}" if body else f"---\n{block}---\n"


def check_package(name: str, description: str) -> None:
    """Refuse what agents would not load."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise SkillFileError(
            f"{name!r} cannot name a skill package: use lower-case letters, digits and single hyphens, "
            f"at most {LONGEST_NAME} characters."
        )
    if not description.strip() or len(description) > _LONGEST_DESCRIPTION:
        raise SkillFileError(
            f"The description of skill {name!r} has {len(description)} characters: "
            f"write between 1 and {_LONGEST_DESCRIPTION} saying what the skill does and when to use it."
        )
