"""One case judged: every cell of the answer's areas, expected beside got, and a short report of what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.envs.spreadsheetbench.cells import Cells, Place
from skillopt.envs.spreadsheetbench.values import Same, Value

_SHOWN_CELLS = 12
_SHOWN_VALUE = 60
NO_VALUE = "formula without value: install libreoffice, or write values"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A cell that is not as expected; `formula` where it holds one that nobody has computed."""

    place: Place
    expected: Value
    got: Value
    formula: str = ""

    def told(self, *, expected: bool) -> str:
        held = f"formula without value {_short(self.formula)}" if self.formula else _short(self.got)
        return f"{self.place}: got {held}" + (f", expected {_short(self.expected)}" if expected else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one case went. `reason` is "" for a pass; `stage` is run, output or cells."""

    number: str
    stage: str
    reason: str = ""
    wrong: tuple[Wrong, ...] = ()
    filled: int = 0

    @property
    def passed(self) -> bool:
        return not self.reason

    def cells(self, *, expected: bool) -> str:
        """The wrong cells, as many as fit. For a target never with what is expected."""
        lines = [wrong.told(expected=expected) for wrong in self.wrong[:_SHOWN_CELLS]]
        rest = len(self.wrong) - len(lines)
        return "\n".join([*lines, *([f"and {rest} more"] if rest else [])])


def compared(number: str, gold: Cells, got: Cells, same: Same) -> Verdict:
    """Only cells that one of the two fills can differ, so whole columns cost no more than what stands in them."""
    if got.absent:
        return Verdict(number, "cells", f"there is no sheet {', '.join(map(repr, got.absent))} in the output")
    places = sorted(gold.values.keys() | got.values.keys() | got.formulas.keys())
    wrong = tuple(_wrong(place, gold, got) for place in places if not _right(place, gold, got, same))
    if not wrong:
        return Verdict(number, "cells", filled=len(places))
    return Verdict(number, "cells", _reason(wrong, len(places)), wrong, len(places))


def listed(cells: Cells, most: int) -> str:
    """Cells and their values, a line each."""
    places = sorted(cells.values)
    lines = [f"{place}: {_short(cells.values[place])}" for place in places[:most]]
    return "\n".join([*lines, *([f"and {len(places) - most} more"] if len(places) > most else [])])


def _right(place: Place, gold: Cells, got: Cells, same: Same) -> bool:
    return place not in got.formulas and same(gold.values.get(place), got.values.get(place))


def _wrong(place: Place, gold: Cells, got: Cells) -> Wrong:
    return Wrong(place, gold.values.get(place), got.values.get(place), got.formulas.get(place, ""))


def _reason(wrong: Sequence[Wrong], filled: int) -> str:
    unvalued = sum(bool(cell.formula) for cell in wrong)
    note = f"; {unvalued} of them: {NO_VALUE}" if unvalued else ""
    return f"{len(wrong)} of {filled} filled cells in the answer's range are wrong{note}"


def _short(value: Value) -> str:
    if value is None:
        return "nothing"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_VALUE else text[:_SHOWN_VALUE] + " ..."
