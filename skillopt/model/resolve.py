"""From a backend's name to an `Endpoint`: one function for each family of backends, and a table of which is which."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillopt.errors import ConfigError
from skillopt.model.azure import azure_or_plain
from skillopt.model.dialects import BACKENDS as DIALECTS
from skillopt.model.dialects import compatible, spoken
from skillopt.model.endpoint import Endpoint
from skillopt.model.local_endpoint import local, nobody
from skillopt.model.programs import claude_code, codex, copilot
from skillopt.model.settings import Role, Settings, text_of
from skillopt.types import JSON

__all__ = ["BACKENDS", "Role", "resolve"]

ALIASES = {
    "": "openai_chat",
    "azure_openai": "openai_chat",
    "azure": "openai_chat",
    "openai_compatible_chat": "openai_compatible",
    "compat": "openai_compatible",
    "claude": "claude_chat",
    "anthropic": "claude_chat",
    "qwen": "qwen_chat",
    "minimax": "minimax_chat",
}


def _litellm(settings: Settings) -> Endpoint:
    """LiteLLM finds address and key itself, from the model's prefix and its own variables."""
    return Endpoint(
        "litellm", settings.model, backend="litellm", wire="litellm", key_variable="the vendor's own key variable"
    )


BACKENDS: Mapping[str, Callable[[Settings], Endpoint]] = {
    "openai_chat": azure_or_plain,
    "openai_compatible": compatible,
    **{name: spoken(dialect) for name, dialect in DIALECTS.items()},
    "litellm": _litellm,
    "codex_exec": codex,
    "claude_code_exec": claude_code,
    "copilot_exec": copilot,
    "local": local,
    "miner": nobody,
}


def resolve(model_config: Mapping[str, JSON], role: Role, environ: Mapping[str, str]) -> Endpoint:
    """Decide address, model and credentials of one role, or say in one `ConfigError` what is missing."""
    given = text_of(model_config.get(f"{role}_backend"))
    name = given.lower().replace("-", "_")
    make = BACKENDS.get(ALIASES.get(name, name))
    if make is None:
        raise ConfigError(f"model.{role}_backend: {given!r} is not in this version; use one of {', '.join(BACKENDS)}")
    return make(Settings(model_config, role, environ))
