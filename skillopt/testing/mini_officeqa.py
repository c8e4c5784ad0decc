"""A miniature OfficeQA: bulletins of an invented treasury as text with tables, and questions that need them.

Every figure is drawn at random, so no model can know one; every question names its quarter, not its file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from skillopt.datasets.splits import NAMES

COLUMNS: tuple[str, ...] = ("uid", "question", "answer", "source_docs", "source_files", "difficulty")
SOURCES = ("Customs duties", "Salt tax", "Harbour dues", "Stamp duty", "Land tax", "Mail and telegraph")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_ISSUES = tuple((year, quarter) for year in (1951, 1952) for quarter in range(4))
_UNIT = "thousands of crowns"


@dataclass(frozen=True, slots=True)
class Issue:
    """A quarter's receipts by source, three months each; it appears in the month after the quarter."""

    year: int
    quarter: int
    receipts: dict[str, tuple[int, int, int]]

    @property
    def months(self) -> tuple[str, ...]:
        return _MONTHS[3 * self.quarter : 3 * self.quarter + 3]

    @property
    def published(self) -> tuple[int, int]:
        return (self.year, 3 * self.quarter + 4) if self.quarter < 3 else (self.year + 1, 1)

    @property
    def file(self) -> str:
        year, month = self.published
        return f"bulletin_{year}_{month:02d}.txt"

    @property
    def text(self) -> str:
        year, month = self.published
        head = f"TREASURY OF ARDMERE\nQUARTERLY BULLETIN\n{_MONTHS[month - 1]} {year}\n"
        rows = [f"| {name} | " + " | ".join(f"{n:,}" for n in row) + " |" for name, row in self.receipts.items()]
        total = [f"{sum(row[i] for row in self.receipts.values()):,}" for i in range(3)]
        table = ["| Source | " + " | ".join(self.months) + " |", *rows, "| Total | " + " | ".join(total) + " |"]
        title = f"TABLE R-1. Receipts by source, {self.months[0]} to {self.months[2]} {self.year} [In {_UNIT}]"
        return f"=== page 1 ===\n{head}\n=== page 2 ===\n{title}\n\n" + "\n".join(table) + "\n"


def write_officeqa(directory: Path, sizes: tuple[int, int, int] = (8, 4, 8), seed: int = 0) -> tuple[Path, Path]:
    """Write `split/<split>/officeqa.csv` and `docs/*.txt`: the `split_dir` and the folder for `data_dirs`.

    The same seed gives the same questions and bulletins.
    """
    random = Random(seed)
    issues = [Issue(year, quarter, {name: _row(random) for name in SOURCES}) for year, quarter in _ISSUES]
    asked = [row for issue in issues for row in _questions(issue)]
    if sum(sizes) > len(asked):
        raise ValueError(f"there are {len(asked)} questions, {sum(sizes)} were wanted")
    random.shuffle(asked)
    split, docs = directory / "split", directory / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    for issue in issues:
        (docs / issue.file).write_text(issue.text, encoding="utf-8")
    rows = iter({"uid": f"M{number:04d}", **row} for number, row in enumerate(asked, start=1))
    for name, size in zip(NAMES, sizes, strict=True):
        (split / name).mkdir(parents=True, exist_ok=True)
        with (split / name / "officeqa.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(next(rows) for _ in range(size))
    return split, docs


def _row(random: Random) -> tuple[int, int, int]:
    first = random.randrange(1_000, 90_000)
    return first, first + random.randrange(-900, 9_000), first + random.randrange(-900, 9_000)


def _questions(issue: Issue) -> Iterator[dict[str, str]]:
    year, month = issue.published
    address = f"https://bulletins.invalid/ardmere/{_MONTHS[month - 1].lower()}-{year}-{issue.quarter}?page=2"
    where = {"source_docs": address, "source_files": issue.file}
    first, _, last = issue.months
    for name, row in issue.receipts.items():
        for at, value in zip(issue.months, row, strict=True):
            question = f"What were the receipts from {name} in {at} {issue.year}, in {_UNIT}?"
            yield {"question": question, "answer": f"{value:,}", "difficulty": "easy"} | where
        span = f"{first} to {last} {issue.year}"
        change = 100 * (row[2] - row[0]) / row[0]
        hard = (
            (f"What is the sum of the monthly receipts from {name}, {span}, in {_UNIT}?", str(sum(row))),
            (
                f"By how many percent did the receipts from {name} change from {first} to {last} {issue.year}? "
                "Round to two decimals and give a percent value.",
                f"{change:.2f}%",
            ),
            (f"List the monthly receipts from {name}, {span}, in order, in {_UNIT}.", f"[{', '.join(map(str, row))}]"),
        )
        for question, answer in hard:
            yield {"question": question, "answer": answer, "difficulty": "hard"} | where
