"""LibreOffice computes what scripts left as formulas, in the sandbox like everything that opens a foreign file.

A start costs seconds and a workbook a few hundredths, so whatever waits is taken along by the next start; two starts
run side by side. Nothing is warm between starts, so a document cannot touch the next one.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.agents.sandbox import Limits, Sandbox
from skillopt.envs.spreadsheetbench.box import answered, job, told_bytes
from skillopt.envs.spreadsheetbench.cells import Cells, Unreadable, cells_of, rows_of
from skillopt.envs.spreadsheetbench.positions import Area
from skillopt.types import JSON

_PLACES = (
    "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin:/Applications/LibreOffice.app/Contents/MacOS"
    """Not PATH, which anyone may have set."""
)
_NEEDED = ("/etc/libreoffice", "/etc/fonts", "/usr/share/fonts", "/usr/share/fontconfig", "/var/cache/fontconfig")
_LANES = 2
_MOST_BOOKS = 16
_SECONDS_A_BOOK = 5
_MARGIN = 10
"""Seconds to read what a start has finished before it is ended from outside, which would lose everything."""
_ITEM = '<item oor:path="/org.openoffice.Office.{}"><prop oor:name="{}" oor:op="fuse"><value>{}</value></prop></item>'
_CHOICES = (
    ("Calc/Formula/Load", "OOXMLRecalcMode", "0"),
    ("Calc/Content/Update", "Link", "1"),
    ("Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Common/Security/Scripting", "DisableMacrosExecution", "true"),
)
"""Compute always, update no links, run no macros."""


def found() -> str | None:
    """LibreOffice's program on this machine."""
    return shutil.which("soffice", path=_PLACES) or shutil.which("libreoffice", path=_PLACES)


@dataclass(frozen=True, slots=True)
class _Book:
    content: bytes
    areas: tuple[Area, ...]
    result: asyncio.Future[Cells]


@dataclass(slots=True)
class Office:
    """LibreOffice for one event loop."""

    program: str
    box: Sandbox
    seconds: float
    _waiting: list[_Book] = field(default_factory=list[_Book])
    _starts: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def computed(self, content: bytes, areas: Sequence[Area]) -> Cells:
        """The cells of a workbook after computing it; raises `Unreadable` where LibreOffice cannot."""
        result: asyncio.Future[Cells] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Book(content, tuple(areas), result))
        if len(self._starts) < _LANES:
            start = asyncio.ensure_future(self._work())
            self._starts.add(start)
            start.add_done_callback(self._starts.discard)
        return await result

    async def _work(self) -> None:
        # A moment, so that the cases of one task, which end together, share the first start.
        await asyncio.sleep(0.05)
        while self._waiting:
            batch = [book for book in self._waiting[:_MOST_BOOKS] if not book.result.done()]
            del self._waiting[:_MOST_BOOKS]
            try:
                await self._settle(batch)
            except BaseException as error:
                for book in batch:
                    if not book.result.done():
                        book.result.set_exception(error) if isinstance(error, Exception) else book.result.cancel()
                if not isinstance(error, Exception):
                    raise

    async def _settle(self, batch: Sequence[_Book]) -> None:
        """One start; what it could not do is tried again alone, since one bad workbook spoils a start for all."""
        rows = await self._start(batch) if batch else ()
        for book, row in zip(batch, rows, strict=True):
            if isinstance(row, Unreadable) and len(batch) > 1:
                (row,) = await self._start([book])
            if book.result.done():
                continue
            if isinstance(row, Unreadable):
                book.result.set_exception(row)
            else:
                book.result.set_result(row)

    async def _start(self, batch: Sequence[_Book]) -> tuple[Cells | Unreadable, ...]:
        seconds = self.seconds + _SECONDS_A_BOOK * (len(batch) - 1)
        names = [f"{number}.xlsx" for number in range(len(batch))]
        told = {
            "program": self.program,
            "books": [[name, rows_of(book.areas)] for name, book in zip(names, batch, strict=True)],
            "seconds": seconds,
        }
        with tempfile.TemporaryDirectory(prefix="skillopt-office-") as folder:
            work = Path(folder)
            await asyncio.to_thread(_lay_out, work, names, batch)
            ran = await self.box.run(
                job(),
                work=work,
                readable=_readable(self.program),
                limits=Limits(seconds=seconds + _MARGIN, memory_mb=4096, open_files=1024),
                stdin=told_bytes(told),
                environment={"SAL_USE_VCLPLUGIN": "svp", "PYTHONDONTWRITEBYTECODE": "1"},
            )
            rows = answered(work).get("books") if ran.ok else None
        said = Unreadable(f"LibreOffice failed: {ran.stderr.strip()[-300:] or ran.ended}")
        if not isinstance(rows, list) or len(rows) != len(batch):
            return (said,) * len(batch)
        return tuple(_cells(row, book) for row, book in zip(rows, batch, strict=True))


def _cells(row: JSON, book: _Book) -> Cells | Unreadable:
    try:
        return cells_of(row, book.areas)
    except Unreadable as error:
        return Unreadable(f"LibreOffice could not compute it: {error}")


def _lay_out(work: Path, names: Sequence[str], batch: Sequence[_Book]) -> None:
    (work / "profile" / "user").mkdir(parents=True)
    items = "".join(_ITEM.format(*choice) for choice in _CHOICES)
    settings = f'<oor:items xmlns:oor="http://openoffice.org/2001/registry">{items}</oor:items>'
    (work / "profile" / "user" / "registrymodifications.xcu").write_text(settings, encoding="utf-8")
    for name, book in zip(names, batch, strict=True):
        (work / name).write_bytes(book.content)


def _readable(program: str) -> tuple[tuple[Path, str], ...]:
    """What LibreOffice reads beside the system's libraries: its settings, fonts, and itself where it lies elsewhere."""
    real = Path(program).resolve()
    own = () if str(real).startswith("/usr/") else (str(real.parent.parent),)
    return tuple((Path(place), place) for place in (*_NEEDED, *own) if Path(place).exists())
