"""The processes of a box, seen from outside: how many, how much memory, and their end.

Seen through /proc, since cgroups belong to whoever runs the machine and are rarely ours to write. A process cannot hide
from it: whoever loses its parent is adopted by the first process of the box.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from skillopt.agents.sandbox.base import WORK, Ended, Limits

_TICK = 0.05
_MOST_FILES = 50_000
_OWN = 3
"""Processes that are ours: the starter and the first one; and one to spare, so that the kernel's limit comes first."""
_MEMORY = ("RssAnon:", "RssShmem:", "VmPTE:", "VmSwap:")
_SHARE = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")


def children(pid: int) -> tuple[int, ...]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += [int(word) for word in (task / "children").read_text().split()]
    return tuple(found)


def tree(pid: int) -> tuple[int, ...]:
    """`pid` and all that descends from it."""
    found = [pid]
    for one in found:
        found += children(one)
    return tuple(found)


def _kilobytes(path: str, words: tuple[str, ...]) -> int | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) for line in lines if line.startswith(words))


def memory(pids: tuple[int, ...], most: int) -> int:
    """Bytes that the processes hold. Only above `most` are shared pages divided among their holders, which is slow."""
    held = sum(_kilobytes(f"/proc/{pid}/status", _MEMORY) or 0 for pid in pids) << 10
    if held <= most:
        return held
    shares = (_kilobytes(f"/proc/{pid}/smaps_rollup", _SHARE) for pid in pids)
    counted = [share for share in shares if share is not None]
    # None could be read: the coarse sum must do.
    return sum(counted) << 10 if any(counted) else held


async def watch(pid: int, limits: Limits, *, isolated: bool) -> Ended:
    """Returns when the tree of `pid` breaks a limit, saying which."""
    most = limits.memory_mb << 20
    while True:
        pids = tree(pid)
        if len(pids) > limits.processes + _OWN:
            return "processes"
        if memory(pids, most) > most:
            return "memory"
        if isolated and len(pids) > 1 and _too_many_files(pids[1]):
            return "disk"
        await asyncio.sleep(_TICK)


def _too_many_files(first: int) -> bool:
    """An empty file takes memory too, and the size of a tmpfs does not count it."""
    with suppress(OSError):
        for place in (WORK, "/tmp", "/dev/shm"):
            found = os.statvfs(f"/proc/{first}/root{place}")
            if found.f_files - found.f_ffree > _MOST_FILES:
                return True
    return False


def end(pid: int, *, isolated: bool) -> None:
    """Kill the box. Its first process takes all others with it; the starter then ends by itself, after them."""
    below = children(pid)
    if isolated and below:
        for child in below:
            _kill_child(child, pid)
        return
    for one in (*reversed(tree(pid)[1:]), pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _kill_child(child: int, parent: int) -> None:
    """The handle is opened before the second look, so that a number given to another process is never hit."""
    with suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(child)
        try:
            if child in children(parent):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
