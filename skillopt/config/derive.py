"""Settings that follow from other settings, worked out before the check, each with a source that says from which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from skillopt.config.backends import DEFAULT, Choice, expand_backends
from skillopt.config.casting import TRUTH, by_look
from skillopt.config.layers import Setting
from skillopt.config.schema import Gradient
from skillopt.config.schema_model import Model
from skillopt.config.words import LABEL_ALIASES, ROLE_ALIASES

_ROLES = ("optimizer", "target")
_WRITTEN = ("optimizer.use_slow_update", "optimizer.use_meta_skill")
"""What only a model could write."""


def derived(settings: Mapping[str, Setting]) -> tuple[dict[str, Setting], tuple[str, ...]]:
    """The settings completed, and remarks about what was done."""
    with_roles, remarks = _roles(settings)
    rated, lowered = _floor(with_roles)
    written, silenced = _unwritten(_within_context(rated))
    return written, (*remarks, *lowered, *silenced)


def _choice(settings: Mapping[str, Setting], name: str) -> Choice:
    s = settings.get(f"model.{name}")
    if s is None:
        return Choice(str(Model.model_fields[name].default))
    return Choice("" if s.value is None else str(s.value), s.strength)


def _roles(settings: Mapping[str, Setting]) -> tuple[dict[str, Setting], tuple[str, ...]]:
    names = ("optimizer_backend", "target_backend", "optimizer", "target")
    label = _choice(settings, "backend")
    given = {name: _choice(settings, name) for name in names}
    minimax = settings.get("model.minimax_model")
    roles = expand_backends(
        label,
        given["optimizer_backend"],
        given["target_backend"],
        given["optimizer"],
        given["target"],
        minimax_model=str(minimax.value) if minimax and minimax.value else "",
    )
    resolved = {
        "optimizer_backend": roles.optimizer_backend,
        "target_backend": roles.target_backend,
        "optimizer": roles.optimizer,
        "target": roles.target,
    }
    result = dict(settings)
    for name in names:
        if resolved[name] != _spelled(name, given[name].value):
            result[f"model.{name}"] = _follows(name, resolved[name], settings)
    return result, _remarks(settings, label, given)


def _spelled(name: str, value: str) -> str:
    word = value.strip().lower()
    return ROLE_ALIASES.get(word, word) if name.endswith("_backend") else value


def _follows(name: str, value: str, settings: Mapping[str, Setting]) -> Setting:
    """A setting whose source tells which backend setting it follows from."""
    own = settings.get(f"model.{name}_backend")
    label = settings.get("model.backend")
    strongest = max((s for s in (own, label) if s), key=lambda s: s.strength, default=None)
    if strongest is None:
        return Setting(f"model.{name}", "default", DEFAULT, value, value)
    source = f"{strongest.path} ({strongest.source})"
    return Setting(f"model.{name}", source, strongest.strength, value, value)


def _remarks(settings: Mapping[str, Setting], label: Choice, given: Mapping[str, Choice]) -> tuple[str, ...]:
    source = settings["model.backend"].source if "model.backend" in settings else "default"
    remarks: list[str] = []
    if label.value.strip().lower() == "openai":
        remarks.append(
            f"{source}: model.backend: openai means the Codex program here; "
            "write azure_openai or openai_compatible to call an API"
        )
    name = LABEL_ALIASES.get(label.value.strip().lower(), label.value.strip().lower())
    for role in _ROLES:
        own = given[f"{role}_backend"]
        spelled = _spelled(f"{role}_backend", own.value)
        if own.strength < label.strength and spelled not in ("openai_chat", "", name, _spelled("_backend", name)):
            where = settings[f"model.{role}_backend"].source
            remarks.append(f"{source}: model.backend: {name} leaves {role}_backend at {spelled}, set in {where}")
    return tuple(remarks)


def _floor(settings: Mapping[str, Setting]) -> tuple[dict[str, Setting], tuple[str, ...]]:
    """A learning rate below an older floor lowers the floor: the newer wish is the one that counts."""
    result = dict(settings)
    rate = settings.get("optimizer.learning_rate")
    floor = settings.get("optimizer.min_learning_rate")
    if rate is None or (floor is not None and floor.strength >= rate.strength):
        return result, ()
    limit, least = by_look(str(rate.value)), by_look(str(floor.value)) if floor else 2
    if not (isinstance(limit, int) and isinstance(least, int) and 1 <= limit < least):
        return result, ()
    result["optimizer.min_learning_rate"] = replace(
        rate, path="optimizer.min_learning_rate", source=f"optimizer.learning_rate ({rate.source})"
    )
    return result, (f"{rate.source}: optimizer.min_learning_rate: lowered to {limit}, the learning rate",)


def _unwritten(settings: Mapping[str, Setting]) -> tuple[dict[str, Setting], tuple[str, ...]]:
    """The miner writes no guidance and no memory: both are off with it, whatever a base says."""
    result, backend = dict(settings), settings.get("model.optimizer_backend")
    if backend is None or _spelled("_backend", str(backend.value)) != "miner":
        return result, ()
    wanted = [path for path in _WRITTEN if path not in settings or TRUTH.get(str(settings[path].value).lower(), True)]
    source = f"model.optimizer_backend: miner ({backend.source})"
    result |= {path: Setting(path, source, backend.strength, False, "false") for path in wanted}
    asked = [f"{path} ({settings[path].source})" for path in wanted if path in settings]
    if not asked:
        return result, ()
    return result, (f"{' and '.join(asked)}: switched off, because the miner asks no model that could write it",)


def _within_context(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """A local optimizer reads what fits into its context: a third of it is for trajectories, unless somebody chose."""
    result, backend, path = dict(settings), settings.get("model.optimizer_backend"), "gradient.trajectory_tokens"
    if backend is None or _spelled("_backend", str(backend.value)) != "local":
        return result
    chosen = settings.get(path)
    if chosen is not None and str(chosen.value) != str(Gradient.model_fields["trajectory_tokens"].default):
        return result
    context = settings.get("model.local_context")
    size = by_look(str(context.value)) if context else Model.model_fields["local_context"].default
    if isinstance(size, int) and size >= 3:
        source = f"model.local_context ({context.source if context else 'default'})"
        result[path] = Setting(path, source, backend.strength, size // 3, str(size // 3))
    return result
