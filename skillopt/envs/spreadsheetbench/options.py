"""The benchmark's keys of the `env` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skillopt.agents.sandbox import Limits
from skillopt.envs.base import Options


class SpreadsheetOptions(Options):
    """`exec_timeout`, a key of every benchmark, bounds a model call; the limits here bound what scripts may take."""

    data_root: str = Field(default="data/spreadsheetbench", description="Folder that spreadsheet_path is relative to")
    mode: Literal["single", "multi", "react"] = Field(
        default="multi", description="One reply; a dialogue in which each script is run; or tools (bash, write_file)"
    )
    max_turns: int = Field(default=30, ge=1, description="Replies (multi) or rounds of tool calls (react)")
    max_completion_tokens: int = Field(default=16384, ge=1)
    sandbox: Literal["auto", "bubblewrap", "namespaces", "none"] = Field(
        default="auto", description="Where scripts run; none protects nothing"
    )
    eval_feedback: bool = Field(
        default=False,
        description="multi: tell the target which cells are wrong (never what is expected), in training and evaluation",
    )
    recalculate: bool | Literal["auto"] = Field(
        default="auto", description="LibreOffice computes formulas without values: true demands it, auto if installed"
    )
    comparison: Literal["mended", "reference"] = Field(
        default="mended", description="reference: the published comparison of cells with its quirks"
    )
    script_seconds: float = Field(default=120, gt=0, description="One run of a script on one workbook")
    tool_seconds: float = Field(default=60, gt=0, description="One bash command (react)")
    recalculate_seconds: float = Field(default=60, gt=0, description="One start of LibreOffice")
    memory_mb: int = Field(default=2048, ge=256, description="Memory of one run")
    scripts_at_once: int = Field(default=0, ge=0, description="Runs side by side; 0 = one for each processor")

    @property
    def for_scripts(self) -> Limits:
        return Limits(seconds=self.script_seconds, memory_mb=self.memory_mb)

    @property
    def for_tools(self) -> Limits:
        return Limits(seconds=self.tool_seconds, memory_mb=self.memory_mb)
