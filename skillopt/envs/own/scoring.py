"""Scorers by name. A name may carry one setting after a colon: `number:0.01`, `choice:yes,no`, `f1:0.8`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from skillopt.envs.own.call_score import Called, found_function
from skillopt.envs.own.grading import Grader
from skillopt.envs.own.text_scores import F1, Anls, Captured, Contains, Exact, Regex, pattern_problem
from skillopt.envs.own.value_scores import Choice, JsonFields, Number
from skillopt.errors import ConfigError

JUDGE = "judge"
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "exact": "equal, without regard to case and white space",
        "contains": "the answer stands in the output, as whole words",
        "choice": "one label out of a list (choice:a,b,c; else the labels of the data)",
        "number": "the last number of the output (number:0.01 sets a tolerance)",
        "f1": "shared words (f1:0.8 passes from there; else only all of them)",
        "anls": "similarity by edit distance (passes from 0.5; anls:0.8 from there)",
        "json_fields": "the fields of a JSON object (json_fields:a,b compares only those)",
        "regex": "the answer is a pattern to be found (regex:PATTERN: its group must equal the answer)",
        "python:module.function": "a function of yours, f(output, answer) -> true, false or 0..1",
        JUDGE: "a rubric, graded by a model (judge:8 passes from 8 of 10; else from 7)",
    }
)
GRADED = frozenset({"f1", "anls", "json_fields", "python", JUDGE})
"""Scorers that give partial credit."""
ANSWERLESS = frozenset({"python", JUDGE})
"""Scorers that can do without an expected answer."""
_PASS_MARK = 7.0


def kind_of(name: str) -> str:
    """A scorer's name without its setting."""
    return name.partition(":")[0].strip()


def grader(name: str) -> Grader:
    """The scorer of a name; `judge` has none, because it needs a model."""
    kind, _, setting = name.partition(":")
    make = _MAKERS.get(kind.strip())
    if make is None:
        raise ConfigError(unknown(name))
    return make(setting.strip())


def check(name: str) -> None:
    """Refuse a name or a setting that means nothing."""
    if kind_of(name) == JUDGE:
        pass_mark(name)
    else:
        grader(name)


def pass_mark(name: str) -> float:
    """From how many points of ten a judged answer passes."""
    mark = _share(name.partition(":")[2].strip(), _PASS_MARK, most=10.0, name=JUDGE)
    if mark <= 0:
        raise ConfigError("env.scorer: judge: the pass mark must be above 0, or an empty answer would pass")
    return mark


def unknown(name: str) -> str:
    near = get_close_matches(kind_of(name), MEANINGS, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"env.scorer: there is no scorer {name!r}{hint} Scorers: {', '.join(MEANINGS)}."


def _share(text: str, default: float, *, most: float, name: str) -> float:
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise ConfigError(f"env.scorer: {name}:{text}: write a number from 0 to {most:g}")
    return value


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _regex(text: str) -> Grader:
    if not text:
        return Regex()
    if problem := pattern_problem(text):
        raise ConfigError(f"env.scorer: regex: {problem}")
    pattern = re.compile(text, re.MULTILINE | re.DOTALL)
    if pattern.groups != 1:
        raise ConfigError(f"env.scorer: regex: {text!r} must have exactly one group, the answer in brackets")
    return Captured(pattern)


_MAKERS: Mapping[str, Callable[[str], Grader]] = MappingProxyType(
    {
        "exact": lambda _: Exact(),
        "contains": lambda _: Contains(),
        "choice": lambda labels: Choice(_words(labels)),
        "number": lambda text: Number(_share(text, 1e-9, most=float("inf"), name="number")),
        "f1": lambda text: F1(_share(text, 1.0, most=1.0, name="f1")),
        "anls": lambda text: Anls(_share(text, 0.5, most=1.0, name="anls")),
        "json_fields": lambda fields: JsonFields(_words(fields)),
        "regex": _regex,
        "python": lambda path: Called(found_function(path)),
    }
)
