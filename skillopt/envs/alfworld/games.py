"""Game files: found, read and named by content before anything is paid; and trees of them as rows.

A game is one JSON file with rules, grammar and problem inside; `traj_data.json` beside it tells how people and a
planner solved it, which the target never sees.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast

from skillopt.datasets.sources import data_files
from skillopt.types import JSON

Row = dict[str, JSON]

GAME = "game.tw-pddl"
NOTES = "traj_data.json"
TYPES: tuple[str, ...] = (
    "pick_and_place", "look_at_obj_in_light", "pick_clean_then_place_in_recep", "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep", "pick_two_obj_and_place",
)  # fmt: skip
PARTS = {"train": "train", "val": "valid_seen", "test": "valid_unseen"}
"""Our splits, and the folders of the published tree that they are made of."""
_INSIDE = ("pddl_domain", "grammar", "pddl_problem")
_RELEASE = re.compile(r"json_\d+\.\d+\.\d+")
_GOAL = re.compile(r'Your task is to: *([^"\\]+)')
_UNUSED = ("movable", "Sliced")
"""Scenes the published environment leaves out."""


@dataclass(frozen=True, slots=True)
class GameFile:
    """A game that can be played: where it lies, its content's digest, and its goal in words."""

    path: Path
    sha: str
    goal: str
    solution: tuple[str, ...]


class MissingGame(ValueError):
    """There is no such file at any of the places."""


def found(gamefile: str, places: Sequence[Path]) -> GameFile:
    """Find and read a game; a `ValueError` says what is wrong with it."""
    names = _names(gamefile)
    looked = list(dict.fromkeys((place / name).absolute() for name in names for place in places))
    path = next((path for path in looked if path.is_file()), None)
    if path is None:
        raise MissingGame(f"the game {gamefile} does not exist; looked for {', '.join(map(str, looked))}")
    return _read(path)


def kind_of(name: str) -> str:
    """`pick_and_place_simple-Mug-None-Desk-308` is of the type that everyone calls pick_and_place."""
    return name.partition("-")[0].removesuffix("_simple")


def notes(path: Path) -> Row:
    """What lies beside a game; nothing where it cannot be read."""
    try:
        value = json.loads(path.with_name(NOTES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("Row", value) if isinstance(value, dict) else {}


def tree(folder: Path) -> Path | None:
    """The folder of the published splits, if `folder` is such a tree or holds one, and no rows of its own."""
    if not folder.is_dir() or ((folder / "train").is_dir() and data_files(folder / "train")):
        return None
    inner = sorted(path for path in folder.iterdir() if _RELEASE.fullmatch(path.name))
    homes = (folder, *reversed(inner))
    return next((home for home in homes if all((home / part).is_dir() for part in PARTS.values())), None)


def tree_rows(home: Path, limit: int) -> dict[str, list[Row]]:
    """A row for each game of a published tree, by its own splits; scenes that are not played are left out."""
    splits = {split: list(_tree_rows(home, part)) for split, part in PARTS.items()}
    return {split: rows[:limit] if limit > 0 else rows for split, rows in splits.items()}


def _tree_rows(home: Path, part: str) -> Iterator[Row]:
    paths = sorted((home / part).glob(f"*/*/{GAME}"))
    usable = [path for path in paths if not any(word in path.parent.parent.name for word in _UNUSED)]
    for number, path in enumerate(usable):
        row: Row = {"id": f"{part}:{number:04d}", "gamefile": str(path), "task_type": kind_of(path.parent.parent.name)}
        yield row


def _names(gamefile: str) -> Iterator[Path]:
    """As it is written and, for a path of another machine, from the release's folder on."""
    yield Path(gamefile).expanduser()
    parts = PurePosixPath(gamefile.replace("\\", "/")).parts
    for at, part in enumerate(parts):
        if _RELEASE.fullmatch(part):
            yield Path(*parts[at:])
            yield Path(*parts[at + 1 :])


def _read(path: Path) -> GameFile:
    try:
        data = path.read_bytes()
        game: JSON = json.loads(data)
    except OSError as error:
        raise ValueError(f"the game {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"the game {path} is not JSON: {error}") from error
    lacks = [key for key in _INSIDE if not isinstance(game, dict) or not isinstance(game.get(key), str)]
    if lacks:
        raise ValueError(f"the game {path} has no {', '.join(lacks)}: is it a file of TextWorld's PDDL games?")
    goal = _GOAL.search(game["grammar"])
    steps = cast("list[JSON]", game.get("walkthrough") or [])
    return GameFile(path, hashlib.sha256(data).hexdigest(), _said(goal), tuple(map(str, steps)))


def _said(goal: re.Match[str] | None) -> str:
    return " ".join(goal.group(1).split()).rstrip(".") if goal else ""
