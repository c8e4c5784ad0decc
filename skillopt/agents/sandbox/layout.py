"""What a box can see: an interpreter with its libraries, and nothing that belongs to anyone.

Only the folders of code beneath the interpreter's prefixes are shown, never a prefix as a whole: data, checkouts and
answers may lie beside them. SkillOpt itself is covered wherever it would show, since it may carry items with answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.agents.sandbox.base import INPUT, WORK, Limits, SandboxError
from skillopt.agents.sandbox.inside.plan import Mount

START = "/.start"
"""Where the package of the first process lies inside."""
_MB = 1 << 20
_SHARED_MEMORY = 64 * _MB
_SYSTEM = ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share/zoneinfo")
_LOCAL = ("/usr/local/bin", "/usr/local/lib", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_TOP = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_CODE = ("bin", "lib", "lib64", "pyvenv.cfg")


@dataclass(frozen=True, slots=True)
class Layout:
    """The same for every run of a process; inputs and sizes are added for each."""

    shown: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    covered: tuple[str, ...]
    path: str
    proc: bool = True
    """False where the kernel refuses a fresh /proc: the box then has none."""

    def mounts(self, inputs: Sequence[tuple[str, str]], limits: Limits) -> tuple[Mount, ...]:
        """In the order in which they must be made: what lies deeper comes later."""
        disk = limits.disk_mb * _MB
        rows: list[Mount] = [("bind", os.path.realpath(place), place, 0) for place in self.shown]
        rows += [("device", place, place, 0) for place in _DEVICES]
        rows += [("tmpfs", "", WORK, disk), ("tmpfs", "", "/tmp", disk), ("tmpfs", "", "/dev/shm", _SHARED_MEMORY)]
        rows += [("mask", "", place, 0) for place in self.covered]
        rows += [("link", target, place, 0) for place, target in self.links]
        rows += [("bind", str(Path(__file__).with_name("inside")), f"{START}/inside", 0)]
        rows += [("proc", "", "/proc", 0)] if self.proc else []
        taken = tuple(row[2] for row in rows)
        rows += [("bind", source, self._free(place, taken), 0) for source, place in inputs]
        return tuple(sorted(rows, key=lambda row: (row[2].count("/"), row[2])))

    def hides(self, path: Path) -> bool:
        """Whether the box sees nothing of `path` or of what lies beside it, unless it is given."""
        real = os.path.realpath(path)
        return any(_within(real, place) for place in self.covered) or not any(
            _within(real, os.path.realpath(place)) for place in self.shown
        )

    @staticmethod
    def _free(place: str, taken: Iterable[str]) -> str:
        wrong = not place.startswith("/") or os.path.normpath(place) != place
        if wrong or any(_within(place, other) or _within(other, place) for other in taken):
            raise SandboxError(
                f"An input cannot be placed at {place!r} in the sandbox: give an absolute path that is not in use "
                f"there, such as {INPUT}/data.xlsx."
            )
        return place


def layout() -> Layout:
    """What the running interpreter needs."""
    shown = [place for place in (*_SYSTEM, *_LOCAL) if os.path.exists(place)]
    shown += [place for place in _TOP if os.path.isdir(place) and not os.path.islink(place)]
    shown += [place for prefix in _prefixes() for place in _code(prefix)]
    links = tuple((place, os.readlink(place)) for place in _TOP if os.path.islink(place))
    links += tuple((f"/dev/{name}", f"/proc/self/fd{end}") for name, end in _STREAMS)
    places = tuple(sorted(set(shown)))
    return Layout(places, links, tuple(_covered(places)), f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin")


_STREAMS = (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2"))


def _prefixes() -> tuple[str, ...]:
    """Every folder an interpreter's path leads through: links to it must lead somewhere inside as well."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    hop = sys.executable
    while hop:
        found.append(os.path.dirname(os.path.dirname(hop)))
        hop = os.path.normpath(os.path.join(os.path.dirname(hop), os.readlink(hop))) if os.path.islink(hop) else ""
    found += [os.path.realpath(prefix) for prefix in found]
    return tuple(dict.fromkeys(prefix for prefix in found if prefix not in ("/", "/usr", "/usr/local")))


def _code(prefix: str) -> list[str]:
    if any(_within(prefix, place) for place in (WORK, INPUT, START)):
        raise SandboxError(f"The interpreter lies in {prefix}, a place that sandboxes use themselves: move it.")
    return [f"{prefix}/{name}" for name in _CODE if os.path.exists(f"{prefix}/{name}")]


def _covered(shown: Sequence[str]) -> Iterable[str]:
    package = Path(os.path.realpath(__file__)).parents[2]
    checkout = package.parent if (package.parent / "pyproject.toml").exists() else package
    for place in shown:
        real = os.path.realpath(place)
        if _within(str(checkout), real):
            yield place + str(checkout)[len(real) :]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
