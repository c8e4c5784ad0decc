"""A shorter document that does as well: units are taken out one at a time, and stay out if the score holds.

Every trial is compared with the document one started from, never with the last trial, so small losses cannot add up
beyond the margin. Copies of a line go first and without a measurement of their own: they say nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from skillopt.evaluation.objective import Objective
from skillopt.evaluation.statistics import Interval, paired_bootstrap
from skillopt.skill.document import Skill
from skillopt.types import Rollout

CHARS_PER_TOKEN = 4
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")

Measure = Callable[[Skill, str], Awaitable[Mapping[str, Rollout]]]
"""A document and the name of the trial in; item digest -> rollout out."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at a shorter document; `change` is its score minus that of the document one started from."""

    name: str
    removed: str
    kept_out: bool
    change: Interval | None


@dataclass(frozen=True, slots=True)
class Shrunk:
    before: Skill
    after: Skill
    trials: tuple[Trial, ...]
    change: Interval | None

    @property
    def tokens(self) -> tuple[int, int]:
        return size(self.before), size(self.after)


@dataclass(frozen=True, slots=True)
class Limits:
    """`margin` is the loss allowed, as a share of the score; `tokens` the size wanted (0 = as short as it gets)."""

    margin: float = 0.0
    tokens: int = 0
    trials: int = 12


def size(skill: Skill) -> int:
    """About how many tokens the document has."""
    return -(-len(skill.text) // CHARS_PER_TOKEN)


def units(skill: Skill) -> tuple[str, ...]:
    """What can be taken out of the body on its own: list items, and paragraphs that are no heading."""
    found: list[str] = []
    for block in re.split(r"\n[ \t]*\n", skill.body):
        lines = [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
        if lines and all(_BULLET.match(line) for line in lines):
            found += lines
        elif lines:
            found.append("\n".join(lines))
    return tuple(dict.fromkeys(unit for unit in found if skill.body.count(unit) == 1))


def without_copies(skill: Skill) -> Skill:
    """The document with later copies of a line left out: merging without a model."""
    seen: set[str] = set()
    lines: list[str] = []
    for line in skill.body.split("\n"):
        key = " ".join(line.split()).casefold()
        if len(key) > 3 and key in seen:
            continue
        seen.add(key)
        lines.append(line)
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return skill if body == skill.body else replace(skill, body=body)


async def shrink(skill: Skill, measure: Measure, objective: Objective, limits: Limits) -> Shrunk:
    """Take units out, the longest first, until the document is small enough or nothing more can go."""
    base = await measure(skill, "start")
    current, change = skill, None
    trials: list[Trial] = []
    plans = [("copies", without_copies(skill))] if without_copies(skill) != skill else []
    waiting = sorted(units(skill), key=lambda unit: (-len(unit), unit))
    while (plans or waiting) and len(trials) < limits.trials:
        if limits.tokens and size(current) <= limits.tokens:
            break
        removed, candidate = plans.pop() if plans else _next(current, waiting.pop(0))
        if candidate.digest == current.digest:
            continue
        name = f"trial-{len(trials) + 1:02d}"
        found = change_of(base, await measure(candidate, name), objective)
        kept = found is not None and found.value >= -limits.margin - 1e-9
        trials.append(Trial(name, removed, kept, found))
        if kept:
            current, change = candidate, found
    return Shrunk(skill, current, tuple(trials), change)


def change_of(before: Mapping[str, Rollout], after: Mapping[str, Rollout], objective: Objective) -> Interval | None:
    """The paired difference of two documents; None when no item has a result under both."""
    pairs = [(before[i].score, after[i].score) for i in sorted(before) if i in after]
    both = [(objective.of_item(a), objective.of_item(b)) for a, b in pairs if a is not None and b is not None]
    return paired_bootstrap([a for a, _ in both], [b for _, b in both]) if both else None


def score_of(rows: Mapping[str, Rollout], objective: Objective) -> float | None:
    values = [objective.of_item(row.score) for row in rows.values() if row.score is not None]
    return fmean(values) if values else None


def _next(skill: Skill, unit: str) -> tuple[str, Skill]:
    """The document without a unit, closed up."""
    body = re.sub(r"\n{3,}", "\n\n", skill.body.replace(f"{unit}\n", "", 1) if f"{unit}\n" in skill.body else "")
    return unit, replace(skill, body=body) if body.strip() else skill
