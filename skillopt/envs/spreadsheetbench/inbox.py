"""The program that runs inside the sandbox, alone: a script on a workbook, then the answer's cells as JSON.

Files that a model's script has written are opened here and nowhere else; what leaves the box is plain data. The process
imports openpyxl once and forks, so that script and reader share the cost. Nothing of SkillOpt can be imported here.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import subprocess
import sys
import traceback
import warnings
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import openpyxl
from openpyxl.utils.cell import coordinate_to_tuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

SCRIPT, INPUT, OUTPUT, RESULT = "solution.py", "input.xlsx", "output.xlsx", "result.json"
FORMULA = "f"


def read_cells(path: str, areas: list[list[Any]]) -> dict[str, Any]:
    """The cells that hold anything, as [row, column, tag, value] for each area; a formula without value has tag f."""
    book = openpyxl.load_workbook(path, data_only=True)
    told: list[list[Any] | None] = [_area(book, area) for area in areas]
    formulas = Formulas(path)
    for area, cells in zip(areas, told):  # noqa: B905
        if cells is not None:
            known = {(row, column) for row, column, *_ in cells}
            unvalued = formulas.without_value(_sheet(book, area[0]).title)
            cells.extend(
                [row, column, FORMULA, text]
                for (row, column), text in unvalued.items()
                if (row, column) not in known and area[1] <= column <= area[3] and area[2] <= row <= area[4]
            )
    return {"sheets": book.sheetnames, "areas": told}


class Formulas:
    """Formulas that nobody has computed. openpyxl gives None for these and for a result that is the empty text alike,
    so the sheets are read as they are stored."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[str, dict[tuple[int, int], str]] = {}

    def without_value(self, sheet: str) -> dict[tuple[int, int], str]:
        if sheet not in self._known:
            with zipfile.ZipFile(self._path) as archive:
                part = _parts(archive).get(sheet, "")
                self._known[sheet] = _formulas(archive, part) if part in archive.namelist() else {}
        return self._known[sheet]


def _parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """The file of each sheet."""
    files: dict[str, str] = {}
    for row in ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels")):
        target = row.get("Target", "")
        files[row.get("Id", "")] = target.lstrip("/") if target.startswith("/") else "xl/" + target
    sheets = (row for row in ElementTree.fromstring(archive.read("xl/workbook.xml")).iter() if _word(row) == "sheet")
    return {row.get("name", ""): files.get(_relation(row), "") for row in sheets}


def _formulas(archive: zipfile.ZipFile, part: str) -> dict[tuple[int, int], str]:
    if not _has_formulas(archive, part):
        return {}
    found: dict[tuple[int, int], str] = {}
    with archive.open(part) as file:
        for _, cell in ElementTree.iterparse(file):
            if _word(cell) != "c":
                continue
            held = {_word(child): child.text or "" for child in cell}
            # A text result may be empty; a cell without type, or without value, was never computed.
            if "f" in held and not held.get("v") and not (cell.get("t") == "str" and "v" in held):
                found[coordinate_to_tuple(cell.get("r", "A1"))] = "=" + held["f"]
            cell.clear()
    return found


def _relation(sheet: ElementTree.Element) -> str:
    return next((value for name, value in sheet.items() if name.endswith("}id")), "")


def _word(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _has_formulas(archive: zipfile.ZipFile, part: str) -> bool:
    with archive.open(part) as file:
        rest = b""
        while piece := file.read(1 << 20):
            if any(mark in rest + piece for mark in (b"<f>", b"<f ", b"<f/", b":f>", b":f ")):
                return True
            rest = piece[-2:]
    return False


def _sheet(book: Any, name: str) -> Any:
    plain = name.strip().casefold()
    found = name if name in book.sheetnames else ""
    found = found or next((sheet for sheet in book.sheetnames if sheet.strip().casefold() == plain), "")
    sheet = book[found] if found else None
    return sheet if sheet is not None and hasattr(sheet, "iter_rows") else None


def _cells(book: Any, area: list[Any]) -> Any:
    name, left, top, right, bottom = area
    sheet = _sheet(book, name)
    right, bottom = min(right, sheet.max_column), min(bottom, sheet.max_row)
    if right < left or bottom < top:
        return
    for row in sheet.iter_rows(top, bottom, left, right):
        yield from row


def _area(book: Any, area: list[Any]) -> list[Any] | None:
    if _sheet(book, area[0]) is None:
        return None
    found = ((cell.row, cell.column, cell.value) for cell in _cells(book, area))
    return [[row, column, *tagged(value)] for row, column, value in found if value is not None and value != ""]


def tagged(value: Any) -> tuple[str, Any]:
    """A value as JSON can carry it, with a letter for its type."""
    if isinstance(value, bool):
        return "b", value
    if isinstance(value, (int, float)):
        return ("n", value) if math.isfinite(value) else ("s", str(value))
    for kind, letter in ((dt.datetime, "d"), (dt.date, "D"), (dt.time, "t")):
        if isinstance(value, kind):
            return letter, value.isoformat()
    if isinstance(value, dt.timedelta):
        return "p", value.total_seconds()
    return "s", str(value)


def run_script(areas: list[list[Any]]) -> dict[str, Any]:
    """Run the script in a child, then read what it left."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _become_script()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        return {"code": code}
    if not Path(OUTPUT).is_file():
        left = sorted({path.name for path in Path().iterdir()} - {SCRIPT, INPUT})
        return {"code": 0, "missing": [name[:80] for name in left[:10]]}
    return {"code": 0, **_read(OUTPUT, areas)}


def _become_script() -> None:
    """Execute the file as Python would, with the two paths as globals, as variables and as arguments."""
    here = Path.cwd()
    path = str(here / SCRIPT)
    names = {"INPUT_PATH": str(here / INPUT), "OUTPUT_PATH": str(here / OUTPUT)}
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    os.environ.update(names)
    sys.argv = [path, *names.values()]
    sys.path[0] = str(here)
    sys.excepthook = _told
    main = type(sys)("__main__")
    main.__dict__.update(names, __file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)
    sys.exit(0)


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The traceback from the script's own first line on: what is above is ours."""
    while trace is not None and Path(trace.tb_frame.f_code.co_filename).name != SCRIPT:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def recalculate(program: str, books: list[Any], seconds: float) -> dict[str, Any]:
    """One start of LibreOffice for several workbooks, `[name, areas]` each; those it finished are read."""
    profile = f"-env:UserInstallation=file://{Path.cwd()}/profile"
    words = ["--headless", "--norestore", "--nolockcheck", "--convert-to", "xlsx:Calc MS Excel 2007 XML"]
    command = [program, profile, *words, "--outdir", "out", *(name for name, _ in books)]
    said = ""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
        said = done.stderr.decode(errors="replace").strip()[-300:]
    except subprocess.TimeoutExpired:
        said = f"it took longer than {seconds:g} s"
    except OSError as error:
        said = str(error)
    found: list[dict[str, Any]] = []
    for name, areas in books:
        path = Path("out", name)
        found.append(_read(str(path), areas) if path.is_file() else {"problem": said or "it wrote nothing"})
    return {"books": found}


def _read(path: str, areas: list[list[Any]]) -> dict[str, Any]:
    try:
        return read_cells(path, areas)
    except Exception as error:  # noqa: BLE001 - whatever a broken file does to openpyxl
        return {"problem": f"{type(error).__name__}: {error}"[:300]}


def main() -> None:
    warnings.simplefilter("ignore")
    job = json.load(sys.stdin)
    office = "program" in job
    found = recalculate(job["program"], job["books"], job["seconds"]) if office else run_script(job["areas"])
    # The script may have put anything at this name.
    Path(RESULT).unlink(missing_ok=True)
    Path(RESULT).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
