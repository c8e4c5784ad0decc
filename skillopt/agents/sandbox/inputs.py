"""Inputs of a run: where each lies outside and inside, and that showing it shows nothing else."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillopt.agents.sandbox.base import INPUT, SandboxError
from skillopt.agents.sandbox.layout import Layout


def placed(readable: Sequence[Path | tuple[Path, str]]) -> tuple[tuple[str, str], ...]:
    """(outside, inside) of each input, links resolved."""
    pairs = tuple(row if isinstance(row, tuple) else (row, f"{INPUT}/{row.name}") for row in readable)
    for path, _ in pairs:
        if not path.exists():
            raise SandboxError(f"The input {path} for the sandbox does not exist.")
    places = [place for _, place in pairs]
    if len(set(places)) != len(places):
        raise SandboxError(f"Two inputs for the sandbox have the same place: {', '.join(sorted(places))}.")
    return tuple((os.path.realpath(path), place) for path, place in pairs)


@contextmanager
def shown(
    readable: Sequence[Path | tuple[Path, str]], layout: Layout, *, stranger: bool
) -> Generator[tuple[tuple[str, str], ...], None, None]:
    """The inputs to mount. For a stranger (a spare user) a private file is shown as a readable copy."""
    pairs = placed(readable)
    for path, _ in pairs:
        if not layout.hides(Path(path)):
            raise SandboxError(
                f"The input {path} lies among the interpreter's libraries, which every sandboxed program can read: "
                "its neighbours would show too. Move the data elsewhere."
            )
    private = [pair for pair in pairs if stranger and not _open_to_all(pair[0])]
    if not private:
        yield pairs
        return
    with tempfile.TemporaryDirectory(prefix="skillopt-input-") as folder:
        copies = {path: _copy(path, f"{folder}/{number}") for number, (path, _) in enumerate(private)}
        yield tuple((copies.get(path, path), place) for path, place in pairs)


def _open_to_all(path: str) -> bool:
    mode = Path(path).stat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & wanted == wanted


def _copy(path: str, target: str) -> str:
    if not Path(path).is_file():
        raise SandboxError(
            f"The input folder {path} is not readable by all, as it must be when you are root: chmod it."
        )
    shutil.copyfile(path, target)
    Path(target).chmod(0o444)
    return target
