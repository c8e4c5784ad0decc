"""The models behind agent programs: where they are and with which key, by each program's own variables.

The program calls its model itself; we only need to know what to let it reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import SecretStr

from skillopt.errors import ConfigError
from skillopt.model.azure import azure_or_plain
from skillopt.model.dialects import BACKENDS, compatible, endpoint_of
from skillopt.model.endpoint import Endpoint
from skillopt.model.settings import Found, Settings

_TOKENS = ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_KEYS = ("ANTHROPIC_API_KEY", "CLAUDE_CHAT_API_KEY", "TARGET_CLAUDE_CHAT_API_KEY")
_COPILOT = {
    "COPILOT_PROVIDER_BASE_URL": "OPENAI_COMPATIBLE_BASE_URL",
    "COPILOT_PROVIDER_API_KEY": "OPENAI_COMPATIBLE_API_KEY",
    "COPILOT_MODEL": "OPENAI_COMPATIBLE_MODEL",
}
"""Copilot's own variables, and ours of the same meaning."""


def codex(settings: Settings) -> Endpoint:
    """OpenAI, Azure, or any server with the Responses route; `CODEX_API_KEY` counts where there is no other key."""
    own = {"OPENAI_API_KEY": settings.environ.get("CODEX_API_KEY", "")}
    missing = not settings.environ.get("OPENAI_API_KEY") and own["OPENAI_API_KEY"]
    made = azure_or_plain(_within(settings, own if missing else {}))
    return replace(made, backend="codex_exec", api="responses", program=True)


def claude_code(settings: Settings) -> Endpoint:
    """Anthropic or a server with its routes, by a key or by the token of a subscription."""
    token = claude_token(settings)
    made = endpoint_of(
        BACKENDS["claude_chat"],
        _within(settings, {"ANTHROPIC_API_KEY": token.value} if token else {}),
        backend="claude_code_exec",
    )
    # A vendor in front of the name is how other programs write it.
    made = replace(made, model=made.model.removeprefix("anthropic/"), program=True)
    return replace(made, api_key=SecretStr(token.value), key_variable=token.source) if token else made


def claude_token(settings: Settings) -> Found:
    """A token that is to be used in place of a key; it goes out in another header."""
    keyed = settings.variable(_KEYS) or settings.key("claude_chat_api_key")
    return Found() if keyed else settings.variable(_TOKENS)


def copilot(settings: Settings) -> Endpoint:
    """Any server with Chat Completions: GitHub's own service cannot be reached from a closed box."""
    given = {ours: settings.environ[theirs] for theirs, ours in _COPILOT.items() if settings.environ.get(theirs)}
    try:
        made = compatible(_within(settings, given))
    except ConfigError as error:
        raise ConfigError(
            "copilot_exec runs without a network, so it needs a model of your own: set COPILOT_PROVIDER_BASE_URL, "
            f"COPILOT_PROVIDER_API_KEY and model.{settings.role} (or COPILOT_MODEL). {error}"
        ) from error
    return replace(made, backend="copilot_exec", api="chat", program=True)


def _within(settings: Settings, more: Mapping[str, str]) -> Settings:
    return Settings(settings.config, settings.role, {**settings.environ, **more})
