"""A directory that is there whole or not at all: it is made beside its place and moved in at the end.

Only a directory that this command made (it holds a split manifest) is ever replaced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from skillopt.datasets.prepare.material import MANIFEST, sha256
from skillopt.datasets.prepare.recipe import Copy
from skillopt.datasets.sources import Row
from skillopt.errors import DataError
from skillopt.types import JSON


def check_place(out: Path, sources: Iterable[Path], *, force: bool) -> None:
    """Refuse a place that holds something worth keeping."""
    if not out.exists():
        return
    if not out.is_dir():
        raise DataError(f"{out} is a file; --out names a directory.")
    if not any(out.iterdir()):
        return
    if not force:
        raise DataError(f"{out} is not empty. Choose another --out, or replace it with --force.")
    if not (out / MANIFEST).is_file():
        raise DataError(
            f"{out} holds no {MANIFEST}, so it is not replaced: remove it yourself or choose another --out."
        )
    whole = out.resolve()
    if kept := [path for path in sources if path.exists() and path.resolve().is_relative_to(whole)]:
        raise DataError(f"The source {kept[0]} lies in {out}, which --force would remove. Choose another --out.")


@contextmanager
def made(out: Path) -> Generator[Path, None, None]:
    """A fresh folder that becomes `out` when all went well, and vanishes when not."""
    out = Path(os.path.abspath(out))  # noqa: PTH100  (resolve would follow a link that is to be replaced)
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = (out.parent / f".{out.name}.{os.getpid()}.{word}" for word in ("new", "old"))
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        yield fresh
        if out.exists():
            out.rename(old)
        fresh.rename(out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if old.exists() and out.exists():
            shutil.rmtree(old)


def write_split(folder: Path, splits: Mapping[str, Iterable[Row]], manifest: Mapping[str, JSON]) -> None:
    """`<split>/items.json` and the manifest."""
    for name, rows in splits.items():
        (folder / name).mkdir()
        _json(folder / name / "items.json", list(rows))
    _json(folder / MANIFEST, dict(manifest))


def put(folder: Path, copies: Iterable[Copy]) -> list[Path]:
    """Copy the files; one place that two different files claim is refused."""
    placed: dict[str, Path] = {}
    for copy in copies:
        first = placed.setdefault(copy.place, copy.source)
        if first == copy.source:
            target = folder / copy.place
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(copy.source, target)
        elif sha256(first) != sha256(copy.source):
            raise DataError(f"Two different files would become {copy.place}: {first} and {copy.source}.")
    return [folder / place for place in placed]


def _json(path: Path, value: JSON) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
