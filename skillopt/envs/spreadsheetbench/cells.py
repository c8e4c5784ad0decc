"""Cells as they come out of a box: plain data, checked and turned back into values."""

from __future__ import annotations

import datetime as dt
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from skillopt.envs.spreadsheetbench.inbox import FORMULA, read_cells
from skillopt.envs.spreadsheetbench.positions import Area, column_name
from skillopt.envs.spreadsheetbench.values import Value
from skillopt.types import JSON


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A cell's place; orders by sheet, row, column."""

    sheet: str
    row: int
    column: int

    def __str__(self) -> str:
        return f"{self.sheet}!{column_name(self.column)}{self.row}"


@dataclass(frozen=True, slots=True)
class Cells:
    """The filled cells of some areas. `formulas` have no value yet; `absent` are sheets that the workbook lacks."""

    values: Mapping[Place, Value]
    formulas: Mapping[Place, str]
    absent: tuple[str, ...] = ()

    def valued(self, computed: Mapping[Place, Value]) -> Cells:
        """With values for formulas; those that came out empty are empty cells now."""
        mine = {place: computed.get(place) for place in self.formulas}
        return Cells({**self.values, **{p: v for p, v in mine.items() if v is not None}}, {}, self.absent)


EMPTY = Cells({}, {})


class Unreadable(ValueError):
    """A workbook that cannot be read, and why."""


def cells_of(told: JSON, areas: Sequence[Area]) -> Cells:
    """What the reader in the box said, checked: a script may have written it itself."""
    rows = cast("Mapping[str, JSON]", told) if isinstance(told, dict) else {}
    if "problem" in rows:
        raise Unreadable(str(rows["problem"])[:300])
    values: dict[Place, Value] = {}
    formulas: dict[Place, str] = {}
    absent: list[str] = []
    try:
        for area, cells in zip(areas, rows["areas"], strict=True):
            if cells is None:
                absent.append(area.sheet)
            for row, column, tag, value in cells or ():
                place = Place(area.sheet, int(row), int(column))
                if tag == FORMULA:
                    formulas[place] = str(value)
                else:
                    values[place] = _VALUES[tag](value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Unreadable(f"the cells cannot be read ({type(error).__name__})") from error
    return Cells(values, formulas, tuple(dict.fromkeys(absent)))


def read(path: str, areas: Sequence[Area]) -> Cells:
    """The cells of a workbook of the data set. Those that a script wrote are read in the sandbox only."""
    return cells_of(read_cells(path, rows_of(areas)), areas)


@contextmanager
def quietly() -> Generator[None]:
    """Without openpyxl's warnings on parts of workbooks that nobody compares. One at a time, as the filters are the
    process's; reading holds the interpreter's lock anyway."""
    with _READING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_READING = threading.Lock()


def rows_of(areas: Sequence[Area]) -> list[list[JSON]]:
    """Areas as the program in the box takes them."""
    return [[area.sheet, area.left, area.top, area.right, area.bottom] for area in areas]


def _text(value: JSON) -> str:
    return str(value)


def _number(value: JSON) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no number")
    return value


_VALUES: Mapping[str, Callable[[JSON], Value]] = MappingProxyType(
    {
        "s": _text,
        "n": _number,
        "b": bool,
        "d": dt.datetime.fromisoformat,
        "D": dt.date.fromisoformat,
        "t": dt.time.fromisoformat,
        "p": lambda seconds: dt.timedelta(seconds=_number(seconds)),
    }
)
