"""Train, val and test: their names, how a single source is cut by ratio, and how the cut is kept on disk.

The written split is portable (relative paths) and depends on the data, ratio and seed alone, so it is left untouched
when it is already right.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from skillopt.datasets.plan import shuffled
from skillopt.errors import DataError
from skillopt.types import JSON

T = TypeVar("T")
SplitName = Literal["train", "val", "test"]

NAMES: tuple[SplitName, ...] = ("train", "val", "test")
_ALIASES: Mapping[str, SplitName] = {
    "train": "train",
    "val": "val",
    "valid_seen": "val",
    "selection": "val",
    "test": "test",
    "valid_unseen": "test",
}


@dataclass(frozen=True, slots=True)
class Cut(Generic[T]):
    """Rows cut into three."""

    train: tuple[T, ...]
    val: tuple[T, ...]
    test: tuple[T, ...]


def canonical_split(name: str) -> SplitName:
    """The split a name stands for; an unknown name is refused, never guessed."""
    if name in _ALIASES:
        return _ALIASES[name]
    near = difflib.get_close_matches(name, _ALIASES, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(f"There is no split {name!r}.{hint} Known names: {', '.join(_ALIASES)}.")


def ratio_weights(ratio: str) -> tuple[int, int, int]:
    """Read `train:val:test`, three positive whole numbers."""
    words = [word.strip() for word in ratio.split(":")]
    if len(words) != len(NAMES) or not all(w.isascii() and w.isdigit() and int(w) > 0 for w in words):
        raise DataError(
            f"The split ratio {ratio!r} is not three positive whole numbers: write train:val:test, as 2:1:7."
        )
    train, val, test = (int(word) for word in words)
    return train, val, test


def ratio_counts(total: int, ratio: str) -> tuple[int, int, int]:
    """Sizes of the splits by largest remainder; ties go to the larger weight, then to train before val before test."""
    weights = ratio_weights(ratio)
    whole = sum(weights)
    counts = [total * w // whole for w in weights]
    order = sorted(range(3), key=lambda i: (-(total * weights[i] % whole), -weights[i]))
    for i in order[: total - sum(counts)]:
        counts[i] += 1
    return counts[0], counts[1], counts[2]


def split_by_ratio(items: Sequence[T], ratio: str, seed: int) -> Cut[T]:
    """Shuffle and cut; every item lands in exactly one split."""
    train, val, _ = ratio_counts(len(items), ratio)
    order = shuffled(items, seed)
    return Cut(order[:train], order[train : train + val], order[train + val :])


def split_stratified(items: Sequence[T], labels: Sequence[str], ratio: str, seed: int) -> Cut[T]:
    """Shuffle, then deal label by label to whichever split is furthest behind its share.

    Every item lands in one split, and every label is spread as the ratio says, to within an item or two.
    """
    weights = ratio_weights(ratio)
    order = sorted(shuffled(tuple(zip(labels, items, strict=True)), seed), key=lambda pair: pair[0])
    parts: tuple[list[T], list[T], list[T]] = ([], [], [])
    for number, (_, item) in enumerate(order, start=1):
        behind = [weight * number - sum(weights) * len(part) for weight, part in zip(weights, parts, strict=True)]
        parts[max(range(3), key=lambda i: (behind[i], weights[i]))].append(item)
    _fill(parts)
    train, val, test = (shuffled(part, seed) for part in parts)
    return Cut(train, val, test)


def _fill(parts: Sequence[list[T]]) -> None:
    """The smallest share of a tiny data set may be nothing; that split then gets one of the largest."""
    for part in parts:
        if not part and max(map(len, parts)) > 1:
            part.append(max(parts, key=len).pop())


def materialise(cut: Cut[dict[str, JSON]], folder: Path, *, source: Path, ratio: str, seed: int) -> None:
    """Write `<split>/items.json` and `split_manifest.json`; files that are already right keep their bytes and times."""
    rows = {"train": cut.train, "val": cut.val, "test": cut.test}
    for name, split in rows.items():
        _write(folder / name / "items.json", list(split))
    manifest = {
        "source_data_path": _portable(source, folder),
        "split_mode": "ratio",
        "split_ratio": ratio,
        "split_seed": seed,
        "counts": {name: len(split) for name, split in rows.items()},
    }
    _write(folder / "split_manifest.json", manifest)


def _portable(source: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(source, folder)).as_posix()
    except ValueError:  # another drive
        return source.name


def _write(path: Path, value: JSON) -> None:
    content = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
