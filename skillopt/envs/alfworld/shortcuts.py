"""What TextWorld works out again and again is kept within an engine process: games open twice, steps go thrice as fast.

The texts and commands that come out are the same. A version of TextWorld that has no place for a shortcut goes without.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from importlib import import_module

from skillopt.types import JSON

_KEPT = 4096


def take_shortcuts() -> None:
    """Put them into the libraries of this process, which plays games and does nothing else."""
    planner: JSON = import_module("fast_downward")
    grammar: JSON = import_module("textworld.envs.pddl.textgen")
    queries: JSON = import_module("textworld.logic").Rule
    with suppress(AttributeError):
        planner.pddl2sas = translated_once(planner.pddl2sas)
    with suppress(AttributeError):
        grammar._parse_and_convert = parsed_once(grammar._parse_and_convert)
    with suppress(AttributeError):
        queries.parse_conjunctive_query = lru_cache(_KEPT)(queries.parse_conjunctive_query)


def translated_once(translate: Callable[..., JSON]) -> Callable[..., JSON]:
    """`pddl2sas` that works once for a game: the engine asks four times, twice of them for the planner alone."""
    last: dict[tuple[str, str], JSON] = {}

    def translated(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> JSON:
        if (domain, problem) not in last:
            last.clear()
            last[domain, problem] = translate(domain, problem, verbose=verbose)
        return last[domain, problem]

    return translated


def parsed_once(parse: Callable[..., JSON]) -> Callable[..., JSON]:
    """The parser of grammar texts, which are few and the same in every game. Results are written to, hence copies."""
    remembered = lru_cache(_KEPT)(lambda text, rule_name: parse(text, rule_name=rule_name))

    def parsed(text: str, rule_name: str, trace: bool = False) -> JSON:
        return deepcopy(remembered(text, rule_name))

    return parsed
