"""Whole-file writes that a crash cannot tear: a temporary file in the same directory, then a rename."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file in one move. `durable` waits for the disk; what can be rebuilt from the journal need not wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def back_up(path: Path) -> Path:
    """Copy a file that is about to be replaced to `<name>.bak-<time>` beside it."""
    wanted = path.with_name(f"{path.name}.bak-{time.strftime('%Y%m%d-%H%M%S')}")
    number, free = 2, wanted
    while free.exists():
        free, number = wanted.with_name(f"{wanted.name}-{number}"), number + 1
    shutil.copy2(path, free)
    return free


def sync_directory(directory: Path) -> None:
    """Make renames and new files in a directory survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
