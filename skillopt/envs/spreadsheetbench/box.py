"""Running a script on a workbook in the sandbox. The box holds the script and one input; the answers never enter."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from skillopt.agents.sandbox import Limits, Ran, Sandbox, collect
from skillopt.envs.spreadsheetbench.cells import Cells, Unreadable, cells_of, rows_of
from skillopt.envs.spreadsheetbench.inbox import INPUT, OUTPUT, RESULT, SCRIPT
from skillopt.envs.spreadsheetbench.positions import Area
from skillopt.types import JSON

_SHOWN_ERROR = 3000
_QUIET: Mapping[str, str] = {"PYTHONDONTWRITEBYTECODE": "1"}
_ENDS = {
    "timeout": "it ran longer than {seconds:g} s",
    "memory": "it took more than {memory} MB of memory",
    "output": "it printed far too much",
    "disk": "it wrote too much to the disk",
    "processes": "it started too many processes",
    "killed": "it was killed by a signal",
}


@dataclass(frozen=True, slots=True)
class Produced:
    """What a script made of one workbook: cells, or why there are none. `output` is kept for LibreOffice."""

    cells: Cells | None = None
    problem: str = ""
    stage: str = "run"
    printed: str = ""
    output: bytes = b""


async def produced(script: str, book: Path, areas: Sequence[Area], box: Sandbox, limits: Limits) -> Produced:
    """Run the script, unmodified, in a fresh folder that holds a copy of the workbook."""
    with tempfile.TemporaryDirectory(prefix="skillopt-sheet-") as folder:
        work = Path(folder)
        await asyncio.to_thread(_lay_out, work, script, book)
        stdin = told_bytes({"areas": rows_of(areas)})
        ran = await box.run(job(), work=work, limits=limits, stdin=stdin, environment=_QUIET)
        return await asyncio.to_thread(_taken, ran, work, areas, limits)


def failure(ran: Ran, limits: Limits) -> str:
    """How a run ended that did not end well."""
    if ran.ended != "exit":
        return _ENDS[ran.ended].format(seconds=limits.seconds, memory=limits.memory_mb)
    return cut(ran.stderr.strip(), _SHOWN_ERROR) or f"it ended with exit code {ran.code}"


def cut(text: str, most: int) -> str:
    """Beginning and end, since an error is told at the end and began at the beginning."""
    if len(text) <= most:
        return text
    head = most // 3
    return f"{text[:head]}\n[... {len(text) - most} characters left out ...]\n{text[len(text) - most + head :]}"


def job() -> tuple[str, ...]:
    """The command of the program in the box."""
    return (sys.executable, "-c", _program())


def told_bytes(told: Mapping[str, JSON]) -> bytes:
    return json.dumps(told).encode()


def answered(work: Path) -> Mapping[str, JSON]:
    """What the program in the box left; nothing where that cannot be read."""
    content = collect(work, RESULT)
    try:
        told: JSON = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, JSON]", told) if isinstance(told, dict) else {}


@lru_cache(maxsize=1)
def _program() -> str:
    return Path(__file__).with_name("inbox.py").read_text(encoding="utf-8")


def _lay_out(work: Path, script: str, book: Path) -> None:
    shutil.copyfile(book, work / INPUT)
    (work / INPUT).chmod(0o644)
    (work / SCRIPT).write_bytes(script.encode("utf-8", "replace"))


def _taken(ran: Ran, work: Path, areas: Sequence[Area], limits: Limits) -> Produced:
    printed = cut(ran.stdout, _SHOWN_ERROR)
    if not ran.ok:
        return Produced(problem=f"the script failed: {failure(ran, limits)}", printed=printed)
    told = answered(work)
    if told.get("code") != 0:
        said = cut(ran.stderr.strip(), _SHOWN_ERROR) or f"exit code {told.get('code')}"
        return Produced(problem=f"the script failed: {said}", printed=printed)
    if "missing" in told:
        left = ", ".join(map(str, cast("list[JSON]", told["missing"]))) or "nothing"
        said = f"the script wrote no workbook to OUTPUT_PATH; it left: {left}"
        return Produced(problem=said, stage="output", printed=printed)
    try:
        cells = cells_of(told, areas)
    except Unreadable as error:
        return Produced(problem=f"the output cannot be opened as a workbook: {error}", stage="output", printed=printed)
    return Produced(cells, "", "cells", printed, (collect(work, OUTPUT) or b"") if cells.formulas else b"")
