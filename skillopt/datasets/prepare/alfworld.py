"""ALFWorld: a tree or archive of games, or a list of their paths. Rows name games relative to $ALFWORLD_DATA.

Games of a tree stay in it; those of an archive are put below the prepared directory, which can then be $ALFWORLD_DATA.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from skillopt.datasets.prepare.material import Material, Source
from skillopt.datasets.prepare.reading import text
from skillopt.datasets.prepare.recipe import Copy, Entry, Recipe
from skillopt.datasets.sources import Row
from skillopt.datasets.splits import SplitName, canonical_split
from skillopt.errors import DataError
from skillopt.types import JSON

_GAME = "game.tw-pddl"
_BESIDE = (_GAME, "traj_data.json", "initial_state.pddl")
_RELEASE = re.compile(r"json_\d+\.\d+\.\d+")
_PARTS = ("train", "valid_seen", "valid_unseen", "val", "test")
_UNUSED = ("movable", "Sliced")
"""Scenes the published environment leaves out."""


def _entries(material: Material) -> Iterator[Entry]:
    counts: Counter[str] = Counter()
    found = [(source, game) for source in material.sources for game in sorted(_games(source))]
    if not found:
        yield from _listed(material)
        return
    skipped = 0
    for source, game in found:
        if not _usable(game):
            skipped += 1
            continue
        material.saw(game)
        yield _entry(source, game, counts)
    if skipped:
        material.notes.append(f"{skipped} games were left out: unsolvable, or of a kind that is not played")
    material.notes.append(_home(material, found))


def _games(source: Source) -> Iterator[Path]:
    return source.path.rglob(_GAME) if source.path.is_dir() else iter(())


def _usable(game: Path) -> bool:
    if any(word in game.parent.parent.name for word in _UNUSED):
        return False
    return _object(game).get("solvable", True) is not False


def _entry(source: Source, game: Path, counts: Counter[str]) -> Entry:
    gamefile = game.relative_to(_root(source, game)).as_posix()
    part = _part(gamefile)
    beside = [game.parent / name for name in _BESIDE] if source.unpacked else []
    home = PurePosixPath(gamefile).parent
    copies = tuple(Copy(path, f"{home}/{path.name}") for path in beside if path.is_file())
    row: Row = {"id": f"{part}:{counts[part]:04d}", "gamefile": gamefile, "task_type": _type(game)}
    counts[part] += 1
    return Entry(_tail(gamefile), row, copies, _split(part))


def _listed(material: Material) -> Iterator[Entry]:
    """Rows that name games, by their own splits where the folders are called so."""
    for row, path in material.rows():
        gamefile = text(row, "gamefile")
        if not gamefile:
            raise DataError(f"{path.name}: no {_GAME} was found, and the rows have no gamefile.")
        gamefile = _portable(gamefile)
        kind = text(row, "task_type") or _kind(PurePosixPath(gamefile).parent.parent.name)
        made: Row = {"id": text(row, "id") or _tail(gamefile), "gamefile": gamefile, "task_type": kind}
        yield Entry(_tail(gamefile), made, split=_split(path.parent.name) or _split(_part(gamefile)))


def _root(source: Source, game: Path) -> Path:
    """The folder that $ALFWORLD_DATA would be: the parent of the release's own."""
    whole = game.absolute()
    named = [folder.parent for folder in whole.parents if _RELEASE.fullmatch(folder.name)]
    root = named[0] if named else source.path.absolute()
    return Path(*game.parts[: len(game.parts) - len(whole.relative_to(root).parts)]) if not game.is_absolute() else root


def _portable(gamefile: str) -> str:
    """A path of another machine, from the release's folder on."""
    parts = PurePosixPath(gamefile.replace("\\", "/")).parts
    at = next((i for i, part in enumerate(parts) if _RELEASE.fullmatch(part)), 0)
    return str(PurePosixPath(*parts[at:]))


def _tail(gamefile: str) -> str:
    """What all releases and roots have in common: part, scene and trial."""
    parts = PurePosixPath(gamefile).parts
    return "/".join(parts[-4:-1] if parts[-1] == _GAME else parts[-3:])


def _part(gamefile: str) -> str:
    return next((part for part in PurePosixPath(gamefile).parts if part in _PARTS), "game")


def _split(part: str) -> SplitName | None:
    return canonical_split(part) if part in _PARTS else None


def _type(game: Path) -> str:
    told = text(_object(game.with_name("traj_data.json")), "task_type")
    return _kind(told or game.parent.parent.name)


def _kind(name: str) -> str:
    """`pick_and_place_simple-Mug-None-Desk-308` is of the type that everyone calls pick_and_place."""
    return name.partition("-")[0].removesuffix("_simple")


def _object(path: Path) -> Row:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def _home(material: Material, found: list[tuple[Source, Path]]) -> str:
    if all(source.unpacked for source, _ in found):
        return "the games were put beside the splits: set ALFWORLD_DATA to this directory"
    roots = {str(_root(source, game).absolute()) for source, game in found if not source.unpacked}
    return f"the games stay where they are: set ALFWORLD_DATA={' or '.join(sorted(roots))}"


def _keys(row: Mapping[str, JSON]) -> tuple[str, ...]:
    if not row.get("gamefile"):
        raise DataError(f"The manifest row {row['id']!r} has no gamefile; ALFWorld's games are found by it.")
    return (_tail(_portable(str(row["gamefile"]))),)


ALFWORLD = Recipe(
    "alfworld",
    _entries,
    licence="ALFWorld and ALFRED, MIT.",
    by_hand="install alfworld, run alfworld-download, and give its json_2.1.1 folder (in $ALFWORLD_DATA) as SOURCE.",
    keys=_keys,
)
