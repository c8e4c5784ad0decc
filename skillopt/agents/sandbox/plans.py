"""What every kind tells the first process: the program, its environment, its limits, and whom it becomes."""

from __future__ import annotations

import os
import platform
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.agents.sandbox.base import WORK, Limits, SandboxError
from skillopt.agents.sandbox.inside.init import main
from skillopt.agents.sandbox.inside.plan import Mount, Plan

_PYTHON = ("python", "python3")
"""Always the running interpreter: some systems have no `python`, or another one."""
_SPARE = ((1_900_000_000, 100_000_000), (62_000, 3_000))
"""First number and count of user numbers that nobody has: above all containers' ranges, else below `nobody`."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a box belongs to. Root never runs foreign code as itself: it has a fresh user number for each run.

    The kernel exempts root from the limit on processes, lets it write kernel settings, and counts a number's processes
    on the whole machine; a number used once is counted for one box.
    """

    root: bool
    spare: tuple[int, int] | None
    counted: bool
    """Whether a limit on processes counts those of one box only: with a spare number, or since Linux 5.14."""

    @classmethod
    def here(cls) -> Identity:
        root = os.getuid() == 0
        spare = next((row for row in _SPARE if _mapped(row[0] + row[1])), None) if root else None
        version = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
        return cls(root, spare, spare is not None or version >= (5, 14))

    def uid(self) -> int:
        return self.spare[0] + secrets.randbelow(self.spare[1]) if self.spare else 0

    @property
    def stranger(self) -> bool:
        """Whether the program will be a user who owns none of the files."""
        return self.spare is not None


def _mapped(number: int) -> bool:
    rows = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    return any(int(row[0]) <= number < int(row[0]) + int(row[2]) for row in rows)


def environment(path: str, home: str, scratch: str, added: Mapping[str, str]) -> dict[str, str]:
    """All that the program finds in its environment. One thread a library: many boxes share the processors."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {"PATH": path, "HOME": home, "TMPDIR": scratch, "LANG": "C.UTF-8", **threads, **added}


def plan(
    argv: Sequence[str],
    environment: dict[str, str],
    limits: Limits,
    *,
    work: str = WORK,
    isolated: bool = True,
    mounts: Sequence[Mount] = (),
    uid: int = 0,
    counted: bool = False,
) -> Plan:
    if not argv:
        raise SandboxError("A sandbox was asked to run an empty command.")
    return Plan(
        argv=[sys.executable if argv[0] in _PYTHON else argv[0], *argv[1:]],
        environment=environment,
        work=work,
        isolated=isolated,
        mounts=list(mounts),
        uid=uid,
        seconds=limits.seconds,
        memory=limits.memory_mb << 20,
        processes=limits.processes if counted else 0,
        files=limits.open_files,
        disk=limits.disk_mb << 20,
    )


def starter(folder: str) -> tuple[str, ...]:
    """The command line of the first process; `folder` holds the package `inside`."""
    # Importing `main` here, though it never runs here, leaves its compiled form for the box, which cannot write one.
    name = main.__name__
    source = f"import sys; sys.path.insert(0, {folder!r}); from inside.init import {name}; {name}()"
    return (sys.executable, "-I", "-S", "-c", source)
