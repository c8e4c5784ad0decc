"""A run on one's own examples where no model was named and no key is set: it stays on this machine.

The target becomes a small local model, the optimizer the miner, and a line says so with the way out. Whoever named a
model, a backend or an endpoint, or has any key set, is never redirected: there the ordinary error says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.app import data_source
from skillopt.config.load import Loaded, Override
from skillopt.envs.own.adapter import Own, OwnOptions
from skillopt.envs.own.grading import as_text
from skillopt.model.assemble import ROLES
from skillopt.model.dialects import BACKENDS, VENDORS, Dialect
from skillopt.model.settings import Role
from skillopt.model.weights import DEFAULT, TABLE, cache_directory
from skillopt.types import JSON

SOURCE = "no key or endpoint is set"
FUNCTION = "function:"
"""How a role is named that a Python caller plays himself."""
_PLACES = ("_endpoint", "_base_url", "_api_key", "vendor")
_HOME_BACKENDS = ("local", "miner")
_FITTING: Mapping[str, JSON] = {"model.reasoning_effort": "", "model.temperature": 0, "env.workers": 8}
_MINING: Mapping[str, JSON] = {
    "optimizer.learning_rate": 5,
    "optimizer.min_learning_rate": 5,
    "optimizer.lr_scheduler": "constant",
}
"""Room for four worked examples and the rules in one step."""
_ANSWER_ROOM = 32
_FREE_ANSWER = 256
_LONGEST_ANSWER = 1024

Again = Callable[[tuple[Override, ...]], Loaded]


def settled(
    loaded: Loaded,
    environ: Mapping[str, str],
    again: Again,
    benchmark: Own | None = None,
    *,
    training: bool = True,
) -> Loaded:
    """The configuration, completed where nobody chose a model. `again` loads it once more with further settings.

    What was chosen is among its warnings, unless it is only who would write edits where none are written.
    """
    if loaded.config.env.name != Own.name:
        return loaded
    roles = _open_roles(loaded)
    if roles and (known := _variables(environ)):
        return _hinted(loaded, known)
    values = _chosen(loaded, roles)
    if values.get("model.target_backend", loaded.config.model.target_backend) == "local":
        values |= _sized(loaded, benchmark)
    new = {key: value for key, value in values.items() if not loaded.provenance[key].given or key in _names(roles)}
    if not new:
        return loaded
    said = training or "target" in roles
    home = again(tuple(Override(key, value, SOURCE if roles else "a local model") for key, value in new.items()))
    return replace(home, warnings=(*home.warnings, _line(home, environ, roles))) if roles and said else home


def _open_roles(loaded: Loaded) -> tuple[Role, ...]:
    """The roles nobody chose; none when anything says that models are to be called elsewhere."""
    given = {key.removeprefix("model.") for key, origin in loaded.provenance.items() if origin.given}
    model: dict[str, JSON] = dict(loaded.config.model)
    if any(key.endswith(_PLACES) for key in given if f"model.{key}" in loaded.provenance):
        return ()
    found: list[Role] = []
    for role in ROLES:
        name, backend = str(model[role]), f"{role}_backend"
        if name.startswith(FUNCTION) or (backend in given and model[backend] in _HOME_BACKENDS):
            continue
        if backend in given or "backend" in given or (role in given and not _is_local(name)):
            return ()
        found.append(role)
    return tuple(found)


def _chosen(loaded: Loaded, roles: tuple[Role, ...]) -> dict[str, JSON]:
    """A name of a local model is kept; else the target is the default one, and the miner writes the edits."""
    model, values = loaded.config.model, dict[str, JSON]()
    if "target" in roles:
        target = model.target if _is_local(model.target) else model.local_model or DEFAULT
        values |= {"model.target_backend": "local", "model.target": target, **_FITTING}
    if "optimizer" in roles:
        local = _is_local(model.optimizer)
        values["model.optimizer_backend"] = "local" if local else "miner"
        values["model.optimizer"] = model.optimizer if local else "miner"
        values |= {} if local else dict(_MINING)
    if loaded.provenance["optimizer.learning_rate"].given:
        values = {key: value for key, value in values.items() if key not in _MINING}
    return values


def _names(roles: tuple[Role, ...]) -> set[str]:
    return {f"model.{role}" for role in roles}


def _is_local(name: str) -> bool:
    return name in TABLE or name.endswith(".gguf")


def _sized(loaded: Loaded, benchmark: Own | None) -> dict[str, JSON]:
    """An output limit that fits the answers: a small model that goes round in circles is stopped early."""
    config = loaded.config
    own = benchmark or Own(OwnOptions.model_validate(dict(config.env.options)))
    source = data_source(config, Path())
    cut = own.already_cut(source)
    rows = [row for rows in own.rows(source).values() for row in rows] if cut else own.table(source).rows
    longest = max((len(as_text(row.get("answer"))) for row in rows if row.get("answer") is not None), default=None)
    limit = _FREE_ANSWER if longest is None else min(_LONGEST_ANSWER, _ANSWER_ROOM + longest * 2 // 3)
    return {"env.max_completion_tokens": limit}


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable that is set, and the row of the vendor whose own it is."""

    name: str
    row: Dialect | None = None


def _variables(environ: Mapping[str, str]) -> tuple[_Variable, ...]:
    """Variables that name an endpoint or a key, whether or not they are enough."""
    rows = (*BACKENDS.values(), *VENDORS.values())
    owners = {name: row for row in rows for name in (*row.keys, *row.urls)}
    prefixed = {f"{row.prefix.upper()}_{what}": row for row in BACKENDS.values() for what in ("API_KEY", "BASE_URL")}
    found = [_Variable(name, (owners | prefixed).get(name)) for name, value in environ.items() if value.strip()]
    endings = ("_API_KEY", "_BASE_URL", "_ENDPOINT", "_VENDOR")
    return tuple(v for v in found if v.row is not None or ("OPENAI" in v.name and v.name.endswith(endings)))


def _hinted(loaded: Loaded, known: tuple[_Variable, ...]) -> Loaded:
    """A key of another vendor is set: say how to choose it, instead of a silent model of another kind."""
    if any(each.row is None or each.row.name == "openai" for each in known):
        return loaded
    ways = [f"{each.name} is set: choose it with {_flags(each.row)}" for each in known if each.row is not None]
    return replace(loaded, warnings=(*loaded.warnings, "; ".join(ways)))


def _flags(row: Dialect) -> str:
    backend = row.name in BACKENDS
    return f"--backend {row.name}" if backend else f"--backend openai_compatible --cfg-options model.vendor={row.name}"


def _line(loaded: Loaded, environ: Mapping[str, str], roles: tuple[Role, ...]) -> str:
    model = loaded.config.model
    parts: list[str] = []
    if "target" in roles:
        row = TABLE.get(model.target)
        here = row is not None and (cache_directory(environ) / row.file).is_file()
        size = f" ({row.megabytes}, {'already here' if here else 'fetched once'})" if row else ""
        parts.append(f"{model.target}{size} does the tasks")
    if "optimizer" in roles:
        parts.append(f"{'the miner' if model.optimizer == 'miner' else model.optimizer} writes the edits")
    keyed = "a model with a key: set OPENAI_API_KEY, or another (docs/guide/backends.md)"
    if "target" not in roles:
        return f"{SOURCE}, so {parts[0]}; {keyed}" if parts else ""
    other = next(name for name in (*TABLE, "")[1:] if name != model.target)
    return (
        f"{SOURCE}, so this runs on your machine: {', '.join(parts)}. Another local model: --target_model {other} (in "
        f"Python target=...; see `skillopt models list`); {keyed}"
    )
