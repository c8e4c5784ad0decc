"""Rows become items here, once, and every problem of a data set is reported together before anything is paid for.

An item in two splits makes the measured gain worthless, so that is refused like a missing field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt.datasets.splits import NAMES, canonical_split
from skillopt.errors import DataError
from skillopt.types import JSON, Item, canonical, digest

_SHOWN = 20
_LABELS = frozenset({"id", "task_type", "split"})
"""Fields that say what a row is called, not what it asks; rows differing only here are the same task."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME = 80
_TAG = 8

Make = Callable[[Mapping[str, JSON], str], Item]
Content = tuple[tuple[str, str], ...]
"""A row without its labels, in the order of its fields' names."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The checked items of a data set."""

    train: tuple[Item, ...]
    val: tuple[Item, ...]
    test: tuple[Item, ...]

    def of(self, name: str) -> tuple[Item, ...]:
        """The items of a split, by any of its names."""
        return {"train": self.train, "val": self.val, "test": self.test}[canonical_split(name)]

    def digests(self) -> dict[str, str]:
        """One digest for each split: it changes when an item, its content or the order changes."""
        return {name: digest(canonical([item.digest for item in self.of(name)])) for name in NAMES}


def checked_items(
    rows_by_split: Mapping[str, Sequence[Mapping[str, JSON]]], *, make: Make, required: tuple[str, ...]
) -> Splits:
    """Make items of all rows, or raise one `DataError` that names what is wrong with them."""
    rows = {canonical_split(name): found for name, found in rows_by_split.items()}
    check = _Check(make, required)
    made = {name: check.split(name, rows.get(name, ())) for name in NAMES}
    if check.problems:
        raise DataError(_shown(check.problems))
    return Splits(made["train"], made["val"], made["test"])


def safe_name(id: str) -> str:
    """A file name for an id: safe in any directory, and distinct for distinct ids.

    A name that had to be changed ends in a digest of the id, so `a/b` and `a_b` stay apart.
    """
    name = _UNSAFE.sub("_", id)
    if name.startswith("."):
        name = f"_{name[1:]}"
    if name == id and 0 < len(id) <= _LONGEST_NAME:
        return id
    return f"{name[: _LONGEST_NAME - _TAG - 1]}-{digest(id.encode('utf-8', 'backslashreplace').decode())[:_TAG]}"


@dataclass(slots=True)
class _Check:
    """Problems and first places, gathered while the splits are read in order."""

    make: Make
    required: tuple[str, ...]
    problems: list[str] = field(default_factory=list[str])
    ids: dict[str, str] = field(default_factory=dict[str, str])
    contents: dict[Content, tuple[str, str]] = field(default_factory=dict["Content", "tuple[str, str]"])

    def split(self, split: str, rows: Sequence[Mapping[str, JSON]]) -> tuple[Item, ...]:
        if not rows:
            self.problems.append(f"{split}: the split is empty; every split needs at least one item")
        found = (self._item(split, index, row) for index, row in enumerate(rows))
        return tuple(item for item in found if item is not None)

    def _item(self, split: str, index: int, row: Mapping[str, JSON]) -> Item | None:
        where = f"{split} item {index}" + (f" (id {row['id']!r})" if not _blank(row.get("id")) else "")
        if absent := [name for name in self.required if _blank(row.get(name))]:
            self.problems.extend(f"{where}: {_lack(name, row)}" for name in absent)
            return None
        try:
            item = self.make(row, split)
        except KeyError as error:
            self.problems.append(f"{where}: the field {error.args[0]!r} is missing")
        except (ValueError, TypeError, AttributeError) as error:
            self.problems.append(f"{where}: {error}")
        else:
            return self._placed(item, split, where, row)
        return None

    def _placed(self, item: Item, split: str, where: str, row: Mapping[str, JSON]) -> Item:
        if not item.id.strip():
            self.problems.append(f"{where}: the item has no id")
        elif item.id in self.ids:
            other = self.ids[item.id]
            place = "twice in this split" if other == split else f"also in {other}"
            self.problems.append(f"{where}: the id {item.id!r} is {place}; ids must be unique")
        else:
            self.ids[item.id] = split
            self._compare(item, split, where, row)
        return item

    def _compare(self, item: Item, split: str, where: str, row: Mapping[str, JSON]) -> None:
        # Texts as they are, in a tuple: comparing them costs a tenth of writing and digesting them once more.
        names = sorted(name for name in row if name not in _LABELS)
        content = tuple((name, v if isinstance(v := row[name], str) else canonical(v)) for name in names)
        if not content:
            return
        other, id = self.contents.setdefault(content, (split, item.id))
        if other != split:
            self.problems.append(f"{where}: the same content is in {other} as id {id!r}; remove it from one split")


def _blank(value: JSON) -> bool:
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, list | dict | tuple) and not value)


def _lack(name: str, row: Mapping[str, JSON]) -> str:
    if name == "id":
        return "the item has no id"
    return f"the field {name!r} is {'empty' if name in row else 'missing'}"


def _shown(problems: Sequence[str]) -> tuple[str, ...]:
    if len(problems) <= _SHOWN:
        return tuple(problems)
    return (*problems[:_SHOWN], f"and {len(problems) - _SHOWN} more ({len(problems)} problems in all)")
