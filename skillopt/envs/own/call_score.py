"""A Python function as scorer: `python:module.function`, `python:file.py:function`, or the function itself.

It is called as `f(output, answer)`, or `f(output, answer, row)` when it takes three, and gives true or false, a number
from 0 to 1, a number with a reason, or a `Score`.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

from skillopt.envs.own.grading import Case, failed
from skillopt.errors import ConfigError
from skillopt.types import JSON, Score, digest

ScoreFunction = Callable[..., JSON]


@dataclass(frozen=True, slots=True)
class Called:
    """A function of the user's. What it raises is passed on: a broken grader stops the run."""

    function: ScoreFunction

    def grade(self, output: str, case: Case) -> Score:
        arguments = (output, case.answer, dict(case.row or {}))
        return as_score(self.function(*arguments[: _taken(self.function)]))

    def complaint(self, case: Case) -> str:
        return ""


def as_score(value: JSON) -> Score:
    """Whatever a function gave, as a score; a number below 1 is partial credit and does not pass."""
    if isinstance(value, Score):
        return value
    reason = ""
    if isinstance(value, tuple) and len(cast("tuple[JSON, ...]", value)) == 2:
        value, reason = cast("tuple[JSON, JSON]", value)
    if not isinstance(value, (bool, int, float)) or not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"a score function gives true, false or a number from 0 to 1, this one gave {value!r}")
    soft = float(value)
    if soft >= 1.0:
        return Score(1.0, soft)
    return failed(str(reason) or f"the score function gave {soft:g}", soft)


def found_function(path: str, home: Path | None = None) -> ScoreFunction:
    """The function at `module.function` or `file.py:function`; modules are also looked for in the working directory."""
    where, _, name = path.rpartition(":") if ".py:" in path else path.rpartition(".")
    if not where or not name:
        raise ConfigError(f"env.scorer: python:{path}: write python:module.function or python:file.py:function")
    module = _module(where, home or Path.cwd(), path)
    found: JSON = vars(module).get(name)
    if not callable(found):
        known = sorted(k for k, v in vars(module).items() if inspect.isfunction(v) and not k.startswith("_"))
        raise ConfigError(
            f"env.scorer: python:{path}: {where} has no function {name!r}; it has {', '.join(known) or 'none'}"
        )
    return cast("ScoreFunction", found)


def function_name(function: Callable[..., JSON]) -> str:
    """What a function is called in a configuration: its path, and a digest of its text where that can be read."""
    named = function if inspect.isroutine(function) else type(function)
    try:
        text = inspect.getsource(named)
    except (OSError, TypeError):
        text = ""
    mark = f"#{digest(text)[:8]}" if text else ""
    return f"{named.__module__}.{named.__qualname__}{mark}"


def _module(where: str, home: Path, path: str) -> ModuleType:
    file = home / where if where.endswith(".py") else home.joinpath(*where.split(".")).with_suffix(".py")
    try:
        if not where.endswith(".py"):
            try:
                return import_module(where)
            except ModuleNotFoundError as error:
                if error.name != where.partition(".")[0] or not file.is_file():
                    raise
        return _loaded(file)
    except Exception as error:
        raise ConfigError(
            f"env.scorer: python:{path} cannot be loaded: {type(error).__name__}: {error}. Looked for the module, and "
            f"for {file}."
        ) from error


def _loaded(file: Path) -> ModuleType:
    """A file of the user's as a module, under a name that no installed module has."""
    name = f"skillopt_user_{digest(str(file.resolve()))}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _taken(function: ScoreFunction) -> int:
    """How many of output, answer and row the function takes; what cannot be asked is given two."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 3
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return min(3, max(1, len([p for p in positional if p.default is p.empty]), min(2, len(positional))))
