"""A LiveMathematicianBench in miniature, of our own making: school mathematics in the published files' form.

Every statement follows from a short proof and every wrong option is wrong for a reason, so a model may be tried on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from skillopt.types import JSON

MONTH = "000001"


@dataclass(frozen=True, slots=True)
class _Statement:
    """`options` begins with the correct one."""

    kind: str
    theorem: str
    sketch: str
    question: str
    options: tuple[str, ...]


def write_livemath(directory: Path, sizes: tuple[int, int, int] = (8, 4, 8), seed: int = 0) -> Path:
    """Write train/, val/ and test/ of these sizes; the directory, which is what `split_dir` wants, is returned."""
    rows = [_row(number, _FAMILIES[number % len(_FAMILIES)](number // len(_FAMILIES))) for number in range(sum(sizes))]
    Random(seed).shuffle(rows)
    for name, size in zip(("train", "val", "test"), sizes, strict=True):
        part, rows = rows[:size], rows[size:]
        (directory / name).mkdir(parents=True, exist_ok=True)
        text = json.dumps(part, ensure_ascii=False, indent=1) + "\n"
        (directory / name / "items.json").write_text(text, encoding="utf-8")
    return directory


def _row(number: int, made: _Statement) -> dict[str, JSON]:
    """As published: the correct option is A and stands apart from the others."""
    correct, *others = made.options
    return {
        "no": number + 1,
        "month": MONTH,
        "paper_link": "",
        "theorem": made.theorem,
        "sketch": made.sketch,
        "theorem_type": [made.kind],
        "mcq": {
            "question": made.question,
            "correct_choice": {"label": "A", "text": correct},
            "choices": [{"label": label, "text": text} for label, text in zip("BCDE", others, strict=False)],
        },
    }


def _sums(n: int) -> _Statement:
    """The sum of k consecutive integers is k·a + k(k-1)/2."""
    k = n + 3
    remainder = 0 if k % 2 else k // 2
    wrong = 1 if k % 2 else 0
    return _Statement(
        "Universal",
        f"The sum of any {k} consecutive integers leaves the remainder {remainder} on division by {k}.",
        f"Write the sum as ${k}a + {k * (k - 1) // 2}$ and reduce the last number modulo {k}.",
        f"Which is the strongest statement that holds for the sum of {k} consecutive integers on division by {k}?",
        (
            f"For every choice of {k} consecutive integers the remainder is {remainder}.",
            f"For every choice of {k} consecutive integers the remainder is {wrong}.",
            f"For some choice of {k} consecutive integers the remainder is {remainder}, for others it is not.",
            f"If the first of the {k} integers is even, the remainder is {remainder}; otherwise it can be any.",
        ),
    )


def _squares(n: int) -> _Statement:
    m = n + 5
    left = sorted({x * x % m for x in range(m)})
    extra = next(r for r in range(m) if r not in left)
    return _Statement(
        "Classification or Bijection",
        f"The remainders of squares on division by {m} are exactly {_listed(left)}.",
        f"The remainder of $x^2$ depends on that of $x$ alone, so it is enough to square $0, \\dots, {m - 1}$.",
        f"Which remainders do the squares of integers leave on division by {m}?",
        (
            f"Exactly {_listed(left)}, and each of them occurs.",
            f"Exactly {_listed(left[:-1])}, and each of them occurs.",
            f"Exactly {_listed(sorted((*left, extra)))}, and each of them occurs.",
            f"All of the numbers 0 to {m - 1} occur.",
            f"Exactly {_listed([0, m - 1])}, and each of them occurs.",
        ),
    )


def _parabolas(n: int) -> _Statement:
    a = n + 1
    c = a * a + a + 2
    low = c - a * a
    form = f"x^2 - {2 * a}x + {c}"
    return _Statement(
        "Inequality or Bound",
        f"For every real $x$, ${form} \\ge {low}$, with equality if and only if $x = {a}$.",
        f"Complete the square: ${form} = (x - {a})^2 + {low}$.",
        f"What is the strongest statement that can be proved about ${form}$ for real $x$?",
        (
            f"${form} \\ge {low}$ for every real $x$, with equality exactly at $x = {a}$.",
            f"${form} > {low}$ for every real $x$.",
            f"${form} \\ge {low - 1}$ for every real $x$.",
            f"${form} \\ge {low + 1}$ for every real $x$, with equality exactly at $x = {a}$.",
            f"${form} \\ge {low}$ for every real $x$, with equality exactly at $x = {-a}$.",
        ),
    )


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


_FAMILIES: tuple[Callable[[int], _Statement], ...] = (_sums, _squares, _parabolas)
