"""Scorers that compare texts: exact, contains, f1, anls, regex."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt.envs.own.grading import Case, failed, passed, plain, shown, verdict
from skillopt.envs.searchqa.scoring import matched
from skillopt.types import Score

_LONGEST_ANLS = 2_000
_ANLS_FLOOR = 0.5


def expected(case: Case) -> str:
    return " or ".join(shown(gold) for gold in case.golds[:5])


@dataclass(frozen=True, slots=True)
class Exact:
    """Equal, without regard to case and white space."""

    def grade(self, output: str, case: Case) -> Score:
        right = bool(output.strip()) and plain(output) in map(plain, case.golds)
        return verdict(right, f"expected exactly {expected(case)}, got {shown(output.strip())}")

    def complaint(self, case: Case) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Contains:
    """The answer stands somewhere in the output, as whole words."""

    def grade(self, output: str, case: Case) -> Score:
        said = plain(output)
        right = any(_inside(plain(gold), said) for gold in case.golds)
        return verdict(right, f"the output does not contain {expected(case)}")

    def complaint(self, case: Case) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class F1:
    """Shared words; `threshold` is the F1 from which an answer passes."""

    threshold: float = 1.0

    def grade(self, output: str, case: Case) -> Score:
        if not output.strip():
            return failed(f"no answer; expected {expected(case)}")
        f1 = matched(output, case.golds).f1
        if f1 >= self.threshold:
            return passed(f1)
        return failed(f"word F1 {f1:.2f} against {expected(case)}, got {shown(output.strip())}", f1)

    def complaint(self, case: Case) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Anls:
    """Similarity by edit distance, as document reading is scored: up to one half it counts as nothing."""

    threshold: float = 0.5

    def grade(self, output: str, case: Case) -> Score:
        said = plain(output)
        best = max((similarity(said, plain(gold)) for gold in case.golds), default=0.0) if said else 0.0
        soft = best if best > _ANLS_FLOOR else 0.0
        if said and soft >= self.threshold:
            return passed(soft)
        return failed(f"similarity {best:.2f} to {expected(case)}, got {shown(output.strip())}", soft)

    def complaint(self, case: Case) -> str:
        longest = max(map(len, case.golds), default=0)
        return f"anls is for short answers, this one has {longest} characters" if longest > _LONGEST_ANLS else ""


@dataclass(frozen=True, slots=True)
class Regex:
    """The answer is a pattern that must be found in the output."""

    def grade(self, output: str, case: Case) -> Score:
        right = bool(output.strip()) and any(re.search(gold, output, re.MULTILINE) for gold in case.golds)
        return verdict(right, f"the output does not match the pattern {expected(case)}")

    def complaint(self, case: Case) -> str:
        return next((found for gold in case.golds if (found := pattern_problem(gold))), "")


@dataclass(frozen=True, slots=True)
class Captured:
    """The first group of a pattern is the answer in the output; it must be equal, as in `exact`."""

    pattern: re.Pattern[str]

    def grade(self, output: str, case: Case) -> Score:
        found = self.pattern.findall(output)
        if not found:
            return failed(f"the output does not match the pattern {self.pattern.pattern!r}")
        last = found[-1]
        return Exact().grade(last if isinstance(last, str) else str(last[0]), case)

    def complaint(self, case: Case) -> str:
        return ""


def pattern_problem(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        return f"{shown(pattern)} is not a regular expression: {error}"
    return ""


def similarity(one: str, two: str) -> float:
    """1 - edit distance / longer length; texts too different in length for one half are not compared."""
    longer = max(len(one), len(two))
    if not longer:
        return 1.0
    if min(len(one), len(two)) < longer * _ANLS_FLOOR:
        return 0.0
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, start=1):
        left, corner = i, i - 1
        for j, b in enumerate(two, start=1):
            left, corner = min(left + 1, row[j] + 1, corner + (a != b)), row[j]
            row[j] = left
        row[0] = i
    return 1 - row[-1] / longer


def _inside(gold: str, said: str) -> bool:
    return bool(gold) and re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", said) is not None
