"""An adapter's prompts in the place of ours. The guide's are plain system prompts; a file with blocks is a template."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from skillopt.envs.batch import EnvAdapter
from skillopt.prompts import HERE

_SUFFIXES = {"rewrite_from_suggestions": "_rewrite", "full_rewrite_minibatch": "_full_rewrite"}


def templates(adapter: EnvAdapter, mode: str) -> dict[str, str]:
    """Template texts by the name of the prompt they stand for; what the adapter's methods return counts most."""
    found = {file.stem: file.read_text(encoding="utf-8") for file in _files(adapter)}
    suffix = _SUFFIXES.get(mode, "")
    said = {
        f"analyst_error{suffix}": adapter.get_error_minibatch_prompt(),
        f"analyst_success{suffix}": adapter.get_success_minibatch_prompt(),
    }
    given = found | {name: text for name, text in said.items() if text and text.strip()}
    return {name: template(name, text) for name, text in given.items()}


def template(name: str, text: str) -> str:
    """A plain text becomes the system prompt of our template, whose user message stays."""
    if "{% block" in text or "{% extends" in text:
        return text
    # As a string literal, so that braces in the text mean nothing.
    literal = json.dumps(text, ensure_ascii=False)
    return f'{{% extends "base/{name}.md" %}}{{% block system %}}{{{{ {literal} }}}}{{% endblock %}}'


def _files(adapter: EnvAdapter) -> tuple[Path, ...]:
    home = sys.modules[type(adapter).__module__].__file__
    folder = Path(home or "").parent / "prompts"
    ours = {file.stem for file in HERE.glob("*.md")}
    return tuple(file for file in sorted(folder.glob("*.md")) if file.stem in ours) if home else ()
