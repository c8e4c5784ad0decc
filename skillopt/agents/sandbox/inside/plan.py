"""What the outside tells the first process of the box. Read by type checkers only: `typing` takes long to load."""

from __future__ import annotations

from typing import TypedDict

Mount = tuple[str, str, str, int]
"""(kind, source, destination, bytes); kinds: bind, device, tmpfs, mask, proc, link."""


class Plan(TypedDict):
    argv: list[str]
    environment: dict[str, str]
    work: str
    isolated: bool
    """False for a plain child process, which is not the first process of anything."""
    mounts: list[Mount]
    """To be made by the first process itself; empty where bubblewrap has made them."""
    uid: int
    """The spare user to become; 0 to stay."""
    seconds: float
    memory: int
    processes: int
    """0 where the kernel counts a user's processes outside the box as well."""
    files: int
    disk: int
