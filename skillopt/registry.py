"""Plugins by name: entry points, and folders `skillopt/envs/<name>/` with an `adapter.py`. Only the one asked for is
imported.

There is no table to register into, because a table would be module-level state that two runs share. Code that is
not installed is named by where it is: `package.module:Class`, or `path/to/adapter.py:Class`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from skillopt.errors import PluginError, UnknownName
from skillopt.types import digest

BENCHMARKS = "skillopt.benchmarks"

_ENVS = Path(__file__).parent / "envs"
_KINDS = frozenset({("skillopt.envs.base", "Benchmark"), ("skillopt.envs.batch", "EnvAdapter")})

T = TypeVar("T", bound=type)


def names(group: str) -> tuple[str, ...]:
    """The registered names of a group, sorted; nothing is imported."""
    return tuple(sorted({*(entry.name for entry in entry_points(group=group)), *_folders(group)}))


def load(group: str, name: str) -> type:
    """The class registered as `name`, or the one at `package.module:Class` or `path/to/adapter.py:Class`."""
    return _imported(name, _registered(group, name) if is_registered_name(name) else name)


def is_registered_name(name: str) -> bool:
    """Whether this is a name, and not a place."""
    return ":" not in name and not name.endswith(".py")


def benchmark(name: str) -> Callable[[T], T]:
    """Give a benchmark class its name. The class is then used by its place, or through an entry point."""

    def stamp(cls: T) -> T:
        cls.name = name
        return cls

    return stamp


def _folders(group: str) -> dict[str, str]:
    """Benchmarks that are a folder of the package, by name: a file to find, no file to edit."""
    if group != BENCHMARKS:
        return {}
    homes = (file.parent.name for file in _ENVS.glob("*/adapter.py"))
    return {name: f"skillopt.envs.{name}.adapter" for name in homes if not name.startswith("_")}


def _registered(group: str, name: str) -> str:
    """Where the name leads: `module:Class`, or a module whose only benchmark is meant."""
    found = {entry.value for entry in entry_points(group=group) if entry.name == name}
    folder = _folders(group).get(name)
    if folder and not any(value.partition(":")[0] == folder for value in found):
        found.add(folder)
    if len(found) > 1:
        raise PluginError(
            f"{name!r} is registered more than once in {group}: {', '.join(sorted(found))}. Use the path."
        )
    if not found:
        raise UnknownName(_unknown(group, name))
    return found.pop()


def _unknown(group: str, name: str) -> str:
    known = names(group)
    near = get_close_matches(name.lower(), known, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(known) or "none"
    kind = group.rpartition(".")[2]
    return (
        f"nothing is registered as {name!r} in {kind}.{guess} Known: {listed}; or say where it is: "
        "package.module:Class or path/to/adapter.py:Class."
    )


def _imported(name: str, place: str) -> type:
    where, _, attribute = place.rpartition(":") if ":" in place else (place, "", "")
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else import_module(where)
    except Exception as error:
        # A module of somebody else's may raise anything while it is imported.
        raise PluginError(f"{name!r} could not be loaded from {place}: {error}{_hint(where, error)}") from error
    if not attribute:
        return _only_class(module, name)
    try:
        found = module
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise PluginError(f"{name!r} could not be loaded from {place}: {error}") from error
    if not isinstance(found, type):
        raise PluginError(f"{name!r} at {place} is not a class")
    return found


def _from_file(file: Path) -> ModuleType:
    """A file as a module. Its folder is a package of its own, so `from .rollout import ...` finds what is beside."""
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    folder = file.resolve().parent
    package = f"skillopt_folder_{digest(str(folder))}"
    if package not in sys.modules:
        made = ModuleType(package, f"The files of {folder}.")
        made.__path__ = [str(folder)]
        sys.modules[package] = made
    # The file may have been written since Python last looked into the folder.
    invalidate_caches()
    return import_module(f"{package}.{file.stem}")


def _hint(where: str, error: Exception) -> str:
    top = where.partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or error.name != top or not Path(top).exists():
        return ""
    return f". The folder {top} is here, but not on the import path: set PYTHONPATH=. or name the file itself."


def _only_class(module: ModuleType, name: str) -> type:
    """The benchmark that a module defines; of several, the one that carries the name."""
    here = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    kinds = [c for c in here if any((b.__module__, b.__qualname__) in _KINDS for b in c.__mro__)]
    leaves = [c for c in kinds if not any(c in other.__mro__[1:] for other in kinds)]
    found = leaves if len(leaves) < 2 else [c for c in leaves if vars(c).get("name") == name] or leaves
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} ({', '.join(c.__name__ for c in found)})" if found else "none"
    raise PluginError(
        f"{name!r}: {module.__file__} must define one class that derives from Benchmark or EnvAdapter, it has {what}. "
        "Name the one you mean: path/to/adapter.py:Class."
    )
