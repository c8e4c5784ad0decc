"""Whether a model thinks before it answers, said in each vendor's own field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillopt.errors import ConfigError
from skillopt.model.settings import Settings, truth
from skillopt.types import JSON

_MODES: Mapping[str, str] = {
    **dict.fromkeys(("server_default", "server-default", "unset", "auto", "none", "null"), "server_default"),
    **dict.fromkeys(("enabled", "enable", "1", "true", "yes", "on"), "enabled"),
    **dict.fromkeys(("disabled", "disable", "0", "false", "no", "off"), "disabled"),
}


@dataclass(frozen=True, slots=True)
class Thought:
    """What goes into every body, and what a person should know."""

    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    notes: tuple[str, ...] = ()


Thinking = Callable[[Settings, str], Thought]


def no_thinking(settings: Settings, model: str) -> Thought:
    return Thought()


def qwen_thinking(settings: Settings, model: str) -> Thought:
    """Three states: on, off, and whatever the server was started with, which is said aloud."""
    mode = qwen_mode(settings)
    if mode == "server_default":
        note = (
            f"{settings.role}: Qwen thinks or not as its server was started; for results that can be repeated "
            f"elsewhere set model.{settings.role}_qwen_chat_thinking_mode to enabled or disabled"
        )
        return Thought(notes=(note,))
    return Thought({"chat_template_kwargs": {"enable_thinking": mode == "enabled"}})


def qwen_mode(settings: Settings) -> str:
    """`enabled`, `disabled` or `server_default`. The older switch knows only "on" and "say nothing"."""
    found = settings.find("qwen_chat", "thinking_mode")
    older = settings.find("qwen_chat", "enable_thinking")
    switch = truth(older)
    if not found:
        return "enabled" if switch else "server_default"
    mode = _MODES.get(found.value.lower())
    if mode is None:
        raise ConfigError(f"{found.source}: {found.value!r} is no thinking mode; use server_default, enabled, disabled")
    if switch is not None and switch != (mode == "enabled"):
        raise ConfigError(f"{found.source} says {mode} and {older.source} says {older.value}: keep one of them")
    return mode


def minimax_thinking(settings: Settings, model: str) -> Thought:
    """MiniMax-M2 cannot turn thinking off."""
    wanted = truth(settings.find("minimax", "enable_thinking", default="False")) or model.startswith("MiniMax-M2")
    return Thought({"thinking": {"type": "adaptive" if wanted else "disabled"}})
