"""From published data to a split directory: open, read, choose, write. The same input gives the same bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.datasets.prepare.alfworld import ALFWORLD
from skillopt.datasets.prepare.choosing import Chosen, by_manifest, by_ratio, collected, published
from skillopt.datasets.prepare.docvqa import DOCVQA
from skillopt.datasets.prepare.hub import Hub, HuggingFace, guarded_files, guarded_rows
from skillopt.datasets.prepare.ids import read_manifest
from skillopt.datasets.prepare.livemath import LIVEMATH
from skillopt.datasets.prepare.material import Material, Stream, opened, tree_digest
from skillopt.datasets.prepare.officeqa import OFFICEQA
from skillopt.datasets.prepare.recipe import HubPlace, Recipe
from skillopt.datasets.prepare.searchqa import SEARCHQA
from skillopt.datasets.prepare.spreadsheets import SPREADSHEETBENCH
from skillopt.datasets.prepare.unpack import is_archive
from skillopt.datasets.prepare.writing import check_place, made, put, write_split
from skillopt.datasets.splits import NAMES, ratio_weights
from skillopt.errors import DataError
from skillopt.types import JSON

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe for recipe in (SEARCHQA, DOCVQA, LIVEMATH, OFFICEQA, SPREADSHEETBENCH, ALFWORLD)
}
DEFAULT_RATIO = "2:1:7"


@dataclass(frozen=True, slots=True)
class Order:
    """What to make. `ratio` "" takes the publishers' own splits where there are some, and else 2:1:7.

    `tool` is the name and version that the manifest tells.
    """

    benchmark: str
    sources: tuple[str, ...]
    out: Path
    ratio: str = ""
    seed: int = 42
    manifest: Path | None = None
    limit: int = 0
    from_hub: bool = False
    force: bool = False
    allow_missing: bool = False
    tool: str = "skillopt"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was made, and what a person should know of it."""

    out: Path
    counts: Mapping[str, int]
    files: int
    notes: tuple[str, ...]


def prepare(order: Order, *, hub: Hub | None = None) -> Prepared:
    """Make the split directory, or raise a `DataError` and leave everything as it was."""
    recipe = RECIPES.get(order.benchmark)
    if recipe is None:
        raise DataError(f"There is no recipe for {order.benchmark!r}. Known: {', '.join(RECIPES)}.")
    ratio_weights(order.ratio or DEFAULT_RATIO)
    paths = () if order.from_hub else tuple(map(Path, order.sources))
    kept = (*paths, *((order.manifest,) if order.manifest else ()))
    check_place(order.out, kept, force=order.force)
    with tempfile.TemporaryDirectory(prefix="skillopt-data-") as scratch, made(order.out) as fresh:
        material = _material(order, recipe, paths, Path(scratch), hub or HuggingFace())
        try:
            chosen = _limited(_chosen(order, recipe, material), order.limit)
        except DataError as error:
            raise DataError((*error.problems, *material.notes)) from error
        copies = [copy for name in NAMES for entry in chosen.splits[name] for copy in entry.copies]
        files = put(fresh, copies)
        for copy in copies:
            material.saw(copy.source)
        manifest = _manifest(order, recipe, material, chosen) | {"files": tree_digest(fresh, files)}
        rows = {name: [entry.row for entry in chosen.splits[name]] for name in NAMES}
        write_split(fresh, rows, manifest)
    counts = {name: len(found) for name, found in rows.items()}
    return Prepared(order.out, counts, len(files), (*chosen.notes, *material.notes))


def _material(order: Order, recipe: Recipe, paths: Sequence[Path], scratch: Path, hub: Hub) -> Material:
    if not order.from_hub:
        if not paths:
            raise DataError(f"No source was given. By hand: {recipe.by_hand}")
        return opened(paths, scratch)
    if recipe.hub is None or len(order.sources) > 1:
        why = "is not on the hub" if recipe.hub is None else "comes from one repository of the hub at a time"
        raise DataError(f"{recipe.name} {why}. By hand: {recipe.by_hand}")
    place = replace(recipe.hub, repository=order.sources[0]) if order.sources else recipe.hub
    if not place.patterns:
        rows = guarded_rows(hub, place, recipe.by_hand)
        return Material((), scratch, Stream(place.repository, rows))
    return opened(_fetched(place, recipe, scratch / "hub", hub), scratch)


def _fetched(place: HubPlace, recipe: Recipe, folder: Path, hub: Hub) -> Sequence[Path]:
    folder = folder / place.repository.replace("/", "--")
    folder.mkdir(parents=True)
    guarded_files(hub, place, folder, recipe.by_hand)
    archives = sorted(path for path in folder.rglob("*") if path.is_file() and is_archive(path))
    return archives or (folder,)


def _chosen(order: Order, recipe: Recipe, material: Material) -> Chosen:
    if order.manifest is not None:
        wanted = read_manifest(order.manifest)
        return by_manifest(recipe, wanted, recipe.read(material), allow_missing=order.allow_missing)
    entries = collected(recipe.read(material), allow_missing=order.allow_missing)
    if not order.ratio and (own := published(entries)):
        return own
    return by_ratio(entries, order.ratio or DEFAULT_RATIO, order.seed)


def _limited(chosen: Chosen, limit: int) -> Chosen:
    if limit < 1:
        return chosen
    return replace(chosen, splits={name: entries[:limit] for name, entries in chosen.splits.items()})


def _manifest(order: Order, recipe: Recipe, material: Material, chosen: Chosen) -> dict[str, JSON]:
    repository = order.sources[0] if order.sources else recipe.hub.repository if recipe.hub else ""
    return {
        "benchmark": recipe.name,
        "tool": order.tool,
        **({"hub": repository} if order.from_hub else {}),
        "sources": material.digests(),
        **chosen.facts,
        "limit": order.limit,
        "counts": {name: len(chosen.splits[name]) for name in NAMES},
        "item_fields": sorted(set(_fields(chosen))),
        "licence": recipe.licence,
    }


def _fields(chosen: Chosen) -> Iterator[str]:
    return (field for entries in chosen.splits.values() for entry in entries for field in entry.row)
