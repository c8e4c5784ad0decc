"""Plugins by name, through entry points: only the one asked for is imported.

There is no table to register into, because a table would be module-level state that two runs share. Code that is
not an installed package is named by its path, `package.module:Class`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from skillopt.errors import PluginError, UnknownName

BENCHMARKS = "skillopt.benchmarks"

T = TypeVar("T", bound=type)


def names(group: str) -> tuple[str, ...]:
    """The registered names of a group, sorted; nothing is imported."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def load(group: str, name: str) -> type:
    """The class registered as `name`, or the one at `package.module:Class`."""
    path = name if ":" in name else _registered(group, name).value
    return _imported(name, path)


def benchmark(name: str) -> Callable[[T], T]:
    """Give a benchmark class its name. The class is then used as `package.module:Class`, or through an entry point."""

    def stamp(cls: T) -> T:
        cls.name = name
        return cls

    return stamp


def _registered(group: str, name: str) -> EntryPoint:
    found = {entry.value: entry for entry in entry_points(group=group) if entry.name == name}
    if len(found) > 1:
        raise PluginError(
            f"{name!r} is registered more than once in {group}: {', '.join(sorted(found))}. Use the path."
        )
    if not found:
        raise UnknownName(_unknown(group, name))
    return next(iter(found.values()))


def _unknown(group: str, name: str) -> str:
    known = names(group)
    near = get_close_matches(name.lower(), known, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(known) or "none"
    kind = group.rpartition(".")[2]
    return f"nothing is registered as {name!r} in {kind}.{guess} Known: {listed}; or give a path, package.module:Class."


def _imported(name: str, path: str) -> type:
    module, _, attribute = path.partition(":")
    try:
        found = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{name!r} could not be loaded from {path}: {error}") from error
    if not isinstance(found, type):
        raise PluginError(f"{name!r} at {path} is not a class")
    return found
