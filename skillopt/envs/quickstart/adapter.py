"""`quickstart`: two small tasks that come with the package, read by the same benchmark as anybody's own data.

`passages`: questions about short texts on invented people and places, so that no model can know an answer by heart;
both questions about a text stand in the same split. `tickets`: routing by the rules of a house that nobody could guess.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from skillopt.datasets.sources import read_rows
from skillopt.datasets.splits import NAMES
from skillopt.envs.base import DataSource, Options
from skillopt.envs.own.adapter import Own, OwnOptions
from skillopt.envs.own.table import Row

HOME = Path(__file__).parent


class QuickstartOptions(OwnOptions):
    """The columns are known; an answer counts when its words are right, whatever the article before it."""

    task: Literal["passages", "tickets"] = Field(default="passages", description="Shipped task: passages or tickets")
    input: str = Field(default="input", description="Column with the input")
    answer: str = Field(default="answer", description="Column with the expected answer")
    scorer: str = Field(default="f1", description="How outputs are scored")
    max_completion_tokens: int = Field(default=24, ge=1, description="Output limit of one attempt")


class Quickstart(Own):
    name: ClassVar[str] = "quickstart"
    Config: ClassVar[type[Options]] = QuickstartOptions
    task_types: ClassVar[tuple[str, ...]] = ("quickstart",)

    def __init__(self, options: QuickstartOptions) -> None:
        super().__init__(options, rows={name: read_rows(HOME / options.task / name / "items.jsonl") for name in NAMES})

    def rows(self, source: DataSource) -> dict[str, list[Row]]:
        found = super().rows(source)
        return {name: rows[: source.limit] if source.limit else rows for name, rows in found.items()}
