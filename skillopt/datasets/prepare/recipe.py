"""What a benchmark must say to be prepared: how its published files become rows. All else is shared.

A row that lacks something is an entry too, with what it lacks: whether that stops the work is for the caller to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.datasets.prepare.material import Material
from skillopt.datasets.sources import Row
from skillopt.datasets.splits import SplitName
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Copy:
    """A file to be put below the prepared directory; `place` is relative, with forward slashes."""

    source: Path
    place: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One item to be. `key` is what an id manifest finds it by; `split` is where its publishers put it."""

    key: str
    row: Row
    copies: tuple[Copy, ...] = ()
    split: SplitName | None = None
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class HubPlace:
    """A data set on the hub: read row by row, or as the files that match `patterns`."""

    repository: str
    config: str = ""
    split: str = ""
    patterns: tuple[str, ...] = ()


def by_id(row: Mapping[str, JSON]) -> tuple[str, ...]:
    """The usual key of a manifest row."""
    return (str(row["id"]),)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one benchmark is prepared. `keys` are what a manifest row may be found by, the best first."""

    name: str
    read: Callable[[Material], Iterator[Entry]]
    licence: str
    by_hand: str
    hub: HubPlace | None = None
    keys: Callable[[Mapping[str, JSON]], tuple[str, ...]] = by_id
