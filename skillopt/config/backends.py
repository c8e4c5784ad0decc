"""From one backend label to the two roles, and from a backend to the model it can run.

Strength decides between settings: a file is stronger than its base, the command line stronger than every file.
A role's own setting beats a label that is not stronger, and any role other than the stock `openai_chat` beats
every label. The stock models give way only to a backend chosen by a stronger setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from skillopt.config.words import LABEL_ALIASES, ROLE_ALIASES

DEFAULT = -1
"""Strength of a value nobody gave."""

_BOTH: Mapping[str, str] = MappingProxyType(
    {
        "claude_chat": "claude_chat",
        "codex": "codex_exec",
        "codex_exec": "codex_exec",
        "copilot_chat": "copilot_chat",
        "openai_compatible": "openai_compatible",
        "litellm": "litellm",
        "local": "local",
    }
)
_TARGET_ONLY = frozenset({"claude_code_exec", "cursor_exec", "copilot_exec", "qwen_chat", "minimax_chat"})
_STOCK_MODELS = frozenset({"gpt-5.4", "gpt-5.5"})
_CLAUDE, _QWEN = "claude-sonnet-4-6", "Qwen/Qwen3.5-4B"


@dataclass(frozen=True, slots=True)
class Choice:
    """A value and the strength of the setting it came from."""

    value: str
    strength: int = DEFAULT


@dataclass(frozen=True, slots=True)
class Roles:
    """The resolved roles; a part that the expansion did not touch is the given value."""

    optimizer_backend: str
    target_backend: str
    optimizer: str
    target: str


def expand_backends(
    label: Choice,
    optimizer_backend: Choice,
    target_backend: Choice,
    optimizer: Choice,
    target: Choice,
    *,
    minimax_model: str = "",
) -> Roles:
    """Fill roles from the label, and replace a stock model that the role's backend cannot run."""
    name = _spelled(label.value, LABEL_ALIASES)
    first = _role(Choice(_BOTH.get(name, "openai_chat"), label.strength), optimizer_backend)
    stated = name if name in _TARGET_ONLY else _BOTH.get(name, "openai_chat")
    second = _role(Choice(stated, label.strength), target_backend)
    minimax = minimax_model or "MiniMax-M3"
    return Roles(
        optimizer_backend=first.value,
        target_backend=second.value,
        optimizer=_model(optimizer, first, {"claude_chat": _CLAUDE, "qwen_chat": _QWEN, "minimax_chat": minimax}),
        target=_model(target, second, _target_models(minimax)),
    )


def _target_models(minimax: str) -> dict[str, str]:
    return {
        "claude_chat": _CLAUDE,
        "claude_code_exec": _CLAUDE,
        "cursor_exec": "composer-2.5",
        "qwen_chat": _QWEN,
        "minimax_chat": minimax,
        "copilot_exec": "",
    }


def _spelled(value: str, aliases: Mapping[str, str]) -> str:
    word = value.strip().lower()
    return aliases.get(word, word)


def _role(by_label: Choice, own: Choice) -> Choice:
    if not own.value.strip():
        return by_label
    name = _spelled(own.value, ROLE_ALIASES)
    return by_label if name == "openai_chat" and own.strength < by_label.strength else Choice(name, own.strength)


def _model(model: Choice, backend: Choice, stock: dict[str, str]) -> str:
    gives_way = model.value in _STOCK_MODELS and model.strength < backend.strength
    return stock.get(backend.value, model.value) if gives_way else model.value
