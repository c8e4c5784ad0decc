"""Prompts are Markdown templates, one a role, so that they can be read, reviewed and replaced without touching code.

A template has a `system` and a `user` block. The system text never changes during a run and the user text goes from
stable to volatile, so that a provider's prompt cache works. A benchmark overrides a template by a file of the same
name, or extends ours: `{% extends "base/analyst_error.md" %}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.errors import ConfigError, UnknownName
from skillopt.types import digest

if TYPE_CHECKING:
    from jinja2 import Environment, Template

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Prompt:
    system: str
    user: str


def fence(label: str, text: str) -> str:
    """Mark text as data. A closing tag inside the text is defused, so the data cannot end its own fence.

    The result is never longer than the text and the two tags: token budgets stay exact.
    """
    inner = re.sub(rf"<\s*/\s*{re.escape(label)}", f"[/{label}", text.strip(), flags=re.IGNORECASE)
    return f"<{label}>\n{inner}\n</{label}>"


class Prompts:
    """Our templates, seen through an optional folder of overrides, or through `given` texts by name."""

    def __init__(self, override_dir: Path | None = None, given: Mapping[str, str] | None = None) -> None:
        self._override_dir = override_dir
        self._given = dict(given or {})

    def render(self, name: str, **values: object) -> Prompt:
        from jinja2 import TemplateError, TemplateNotFound

        try:
            return self._render(self._environment.get_template(f"{name}.md"), values)
        except TemplateNotFound as error:
            raise UnknownName(
                f"No prompt template {error.name!r} (wanted for prompt {name!r}). Looked in: {self._places()}."
            ) from error
        except TemplateError as error:
            raise ConfigError(
                f"Prompt template {name!r} cannot be rendered: {error}. Looked in: {self._places()}."
            ) from error

    def digests(self) -> dict[str, str]:
        """The digest of every template in effect; ours counts beside an override only when the override extends it."""
        ours, theirs = _texts(HERE), _texts(self._override_dir) if self._override_dir else {}
        theirs |= self._given
        extended = {f"base/{name}": text for name, text in ours.items() if _refers(theirs, f"base/{name}.md")}
        return {name: digest(text) for name, text in sorted((ours | theirs | extended).items())}

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import ChoiceLoader, DictLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined

        folders = [folder for folder in (self._override_dir, HERE) if folder is not None]
        given = DictLoader({f"{name}.md": text for name, text in self._given.items()})
        ours = PrefixLoader({"base": FileSystemLoader(HERE)})
        return Environment(
            loader=ChoiceLoader([given, FileSystemLoader(folders), ours]),
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def _render(self, template: Template, values: dict[str, object]) -> Prompt:
        context = template.new_context({"fence": fence, **values})
        # Running the template once lets `extends` fill context.blocks with the parents' blocks.
        for _ in template.root_render_func(context):
            pass
        missing = {"system", "user"} - context.blocks.keys()
        if missing:
            raise ConfigError(f"Prompt template {template.name!r} lacks the block(s): {', '.join(sorted(missing))}.")
        system, user = ("".join(context.blocks[block][0](context)) for block in ("system", "user"))
        return Prompt(_tidy(system), _tidy(user))

    def _places(self) -> str:
        return ", ".join(str(folder) for folder in (self._override_dir, HERE) if folder is not None)


def _texts(folder: Path) -> dict[str, str]:
    files = sorted(folder.rglob("*.md"))
    return {file.relative_to(folder).with_suffix("").as_posix(): file.read_text("utf-8") for file in files}


def _refers(texts: dict[str, str], template: str) -> bool:
    return any(template in text for text in texts.values())


def _tidy(text: str) -> str:
    return text.strip() + "\n"
