"""Which entry goes to which split: as a manifest says, as the publishers did, or by ratio.

What cannot be found or used is an error that names it; only when the caller allows it is it counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from skillopt.datasets.prepare.ids import Manifest, named
from skillopt.datasets.prepare.recipe import Entry, Recipe
from skillopt.datasets.splits import NAMES, SplitName, split_by_ratio
from skillopt.errors import DataError
from skillopt.types import JSON

_SHOWN = 10
_ALLOW = "Use --allow-missing to go on without."


@dataclass(frozen=True, slots=True)
class Chosen:
    """Entries by split, the facts for the manifest, and notes for the person."""

    splits: Mapping[SplitName, tuple[Entry, ...]]
    facts: Mapping[str, JSON]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collected:
    """Usable entries in the order of their source; `dropped` says why others are not among them."""

    entries: Mapping[str, Entry]
    dropped: Mapping[str, str]
    repeated: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        said: list[str] = []
        if self.dropped:
            said.append(f"{len(self.dropped)} items were left out, such as {_reasons(self.dropped, 1)[0]}")
        if self.repeated:
            said.append(f"{self.repeated} rows came twice and were kept once")
        return tuple(said)


def collected(entries: Iterable[Entry], *, allow_missing: bool, only: frozenset[str] | None = None) -> Collected:
    """Gather entries by key (those in `only`, when given); one key with two contents is an error."""
    usable: dict[str, Entry] = {}
    dropped: dict[str, str] = {}
    clashing: dict[str, None] = {}
    repeated = 0
    for number, entry in enumerate(entries):
        if only is not None and entry.key not in only:
            continue
        if entry.lacks or not entry.key:
            dropped[entry.key or f"row {number}"] = entry.lacks or "no id"
        elif entry.key not in usable:
            usable[entry.key] = entry
        elif usable[entry.key].row == entry.row:
            repeated += 1
        else:
            clashing[entry.key] = None
    if clashing:
        raise DataError(f"The source has more than one item with the id {named(clashing)}.")
    if dropped and not allow_missing:
        raise DataError([*_reasons(dropped, _SHOWN), f"{len(dropped)} items cannot be used. {_ALLOW}"])
    return Collected(usable, dropped, repeated)


def by_manifest(recipe: Recipe, manifest: Manifest, entries: Iterable[Entry], *, allow_missing: bool) -> Chosen:
    """The manifest's items in its order and under its ids."""
    keys: dict[SplitName, list[tuple[str, tuple[str, ...]]]] = {
        name: [(str(row["id"]), recipe.keys(row)) for row in rows] for name, rows in manifest.splits.items()
    }
    only = frozenset(key for rows in keys.values() for _, found in rows for key in found)
    there = collected(entries, allow_missing=allow_missing, only=only)
    missing: list[str] = []
    splits: dict[SplitName, tuple[Entry, ...]] = {}
    for name, rows in keys.items():
        found = [(id, next((there.entries[key] for key in tried if key in there.entries), None)) for id, tried in rows]
        missing.extend(f"{name}:{id}" for id, entry in found if entry is None)
        splits[name] = tuple(replace(entry, row={**entry.row, "id": id}) for id, entry in found if entry is not None)
    if missing and not allow_missing:
        raise DataError(f"{len(missing)} ids of the manifest are not in the source: {named(missing)}. {_ALLOW}")
    facts: dict[str, JSON] = {
        "split_mode": "manifest",
        "manifest": {"name": manifest.name, "sha256": manifest.sha256},
        "missing": len(missing),
    }
    gone = f"{len(missing)} ids of the manifest are not in the source and were left out: {named(missing)}"
    return _filled(Chosen(splits, facts, (gone, *there.notes) if missing else there.notes))


def published(there: Collected) -> Chosen | None:
    """The publishers' own splits; None where an item has none or a split would be empty."""
    entries = tuple(there.entries.values())
    splits: dict[SplitName, tuple[Entry, ...]] = {
        name: tuple(entry for entry in entries if entry.split == name) for name in NAMES
    }
    if any(entry.split is None for entry in entries) or not all(splits.values()):
        return None
    return Chosen(splits, {"split_mode": "published", **_left_out(there)}, there.notes)


def by_ratio(there: Collected, ratio: str, seed: int) -> Chosen:
    cut = split_by_ratio(tuple(there.entries.values()), ratio, seed)
    facts: dict[str, JSON] = {"split_mode": "ratio", "split_ratio": ratio, "split_seed": seed, **_left_out(there)}
    return _filled(Chosen({"train": cut.train, "val": cut.val, "test": cut.test}, facts, there.notes))


def _left_out(there: Collected) -> dict[str, JSON]:
    return {"left_out": len(there.dropped)} if there.dropped else {}


def _filled(chosen: Chosen) -> Chosen:
    """A run needs all three splits; better said now than then."""
    if empty := [name for name, entries in chosen.splits.items() if not entries]:
        total = sum(map(len, chosen.splits.values()))
        way = (
            "Give more data" if "split_ratio" not in chosen.facts else "Give more data or another --split-ratio (1:1:2)"
        )
        raise DataError(f"{total} items leave {' and '.join(empty)} empty. {way}.")
    return chosen


def _reasons(dropped: Mapping[str, str], count: int) -> list[str]:
    return [f"{key!r}: {why}" for key, why in islice(dropped.items(), count)]
