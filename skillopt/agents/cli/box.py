"""Where a program runs: in bubblewrap, with its workspace to write, its folders to read, and no network of its own.

The programs' own sandboxes limit what their tools may write; they do not keep a task from reading a home, a checkout or
the answers. So the whole program is put into a box, and its own sandbox stays on inside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from skillopt.agents.cli.found import Program
from skillopt.agents.sandbox.bubblewrap import PROGRAMS, options
from skillopt.agents.sandbox.inside.plan import Mount
from skillopt.agents.sandbox.layout import Layout, layout
from skillopt.errors import ConfigError

Choice = Literal["auto", "none"]
PORT = 7777
_WORK, _HOME, _WIRE, _DOCUMENTS = "/workspace", "/home/agent", "/run/model", "/documents"
_START = "/run/start.py"
_DISK = 2 << 30
_ALWAYS = (
    *("--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-ipc", "--unshare-pid", "--unshare-net"),
    *("--unshare-uts", "--unshare-cgroup-try", "--hostname", "box", "--die-with-parent", "--new-session"),
    *("--clearenv", "--cap-drop", "ALL"),
)
_ADVICE = """\
model.exec_sandbox: an agent program runs commands that a model has written, and must not run unprotected. Install
bubblewrap (apt install bubblewrap, dnf install bubblewrap) and let users make namespaces (sysctl -w
kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu; in a container --security-opt seccomp=unconfined), or set
model.exec_sandbox: none if the machine is expendable. Bubblewrap said: """


@dataclass(frozen=True, slots=True)
class Room:
    """The folders of one attempt, as we see them: what the program works on, its home, and the socket to its model."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def wire(self) -> Path:
        return self.root / "wire"


@dataclass(frozen=True, slots=True)
class Seat:
    """The same places as the program sees them."""

    work: str
    home: str
    documents: tuple[str, ...] = ()


class Box(Protocol):
    @property
    def isolated(self) -> bool: ...

    def seat(self, room: Room, folders: Sequence[Path]) -> Seat: ...

    def socket(self, room: Room) -> Path | None:
        """Where the relay listens; None for a port of this machine."""
        ...

    def command(
        self, argv: Sequence[str], program: Program, room: Room, folders: Sequence[Path], environment: Mapping[str, str]
    ) -> tuple[str, ...]: ...

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """What the started process is given; a box gives its own process nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Bubble:
    """Under `bwrap`: a user of its own, no network, a view of system programs and of the room."""

    bwrap: str
    layout: Layout

    @property
    def isolated(self) -> bool:
        return True

    def seat(self, room: Room, folders: Sequence[Path]) -> Seat:
        return Seat(_WORK, _HOME, tuple(place for _, place in _placed(folders)))

    def socket(self, room: Room) -> Path | None:
        return room.wire / "socket"

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def command(
        self, argv: Sequence[str], program: Program, room: Room, folders: Sequence[Path], environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        words = [self.bwrap, *_ALWAYS, *self._view(program)]
        words += ["--bind", str(room.work), _WORK, "--bind", str(room.home), _HOME]
        words += ["--ro-bind", str(room.wire), _WIRE]
        words += ["--ro-bind", str(room.root / "passwd"), "/etc/passwd"]
        words += ["--ro-bind", str(Path(__file__).with_name("forward.py")), _START]
        for folder, place in _placed(folders):
            words += ["--ro-bind", str(folder.resolve()), place]
        words += ["--remount-ro", "/", "--chdir", _WORK]
        for name, value in environment.items():
            words += ["--setenv", name, value]
        start = (sys.executable, "-I", "-S", _START, str(PORT), f"{_WIRE}/socket")
        return (*words, "--", *start, *argv)

    def _view(self, program: Program) -> list[str]:
        seen = self.layout
        rows: list[Mount] = [("bind", os.path.realpath(place), place, 0) for place in seen.shown]
        rows += [("bind", str(place), str(place), 0) for place in _apart(program.shown, seen.shown)]
        rows += [("bind", place, place, 0) for place in _CERTIFICATES if Path(place).exists()]
        rows += [("tmpfs", "", "/tmp", _DISK)]
        rows += [("mask", "", place, 0) for place in seen.covered]
        rows += [("link", target, place, 0) for place, target in seen.links if not place.startswith("/dev/")]
        rows += [("proc", "", "/proc", 0)]
        ordered = sorted(rows, key=lambda row: (row[2].count("/"), row[2]))
        *words, _, _ = options(ordered)  # the root is closed later, when the room is in it
        return [*words, "--dev", "/dev"]


@dataclass(frozen=True, slots=True)
class Open:
    """No box at all, by explicit choice: the program sees what its user sees."""

    @property
    def isolated(self) -> bool:
        return False

    def seat(self, room: Room, folders: Sequence[Path]) -> Seat:
        return Seat(str(room.work), str(room.home), tuple(str(folder.resolve()) for folder in folders))

    def socket(self, room: Room) -> Path | None:
        return None

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return environment

    def command(
        self, argv: Sequence[str], program: Program, room: Room, folders: Sequence[Path], environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        return tuple(argv)


_CERTIFICATES = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust")
"""Public roots: some programs do not start without any."""


def box(choice: Choice = "auto") -> Box:
    """The box of this machine, tried out once."""
    if choice == "none":
        return Open()
    program = shutil.which("bwrap", path=PROGRAMS) if sys.platform == "linux" else None
    if program is None:
        raise ConfigError(f"{_ADVICE}it is not installed")
    made = Bubble(program, replace(layout(), proc=True))
    trial = [program, *_ALWAYS, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    ran = subprocess.run(trial, capture_output=True, env={}, timeout=20, check=False)
    if ran.returncode:
        raise ConfigError(f"{_ADVICE}{ran.stderr.decode(errors='replace').strip()[:300]}")
    return made


def _placed(folders: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each folder under a name of its own; two may be called the same."""
    names: list[str] = []
    for folder in folders:
        name = folder.resolve().name or "root"
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    return [(folder, f"{_DOCUMENTS}/{name}") for folder, name in zip(folders, names, strict=True)]


def _apart(places: Sequence[Path], shown: Sequence[str]) -> list[Path]:
    """Those that are not already seen as part of another."""
    return [place for place in places if not any(place == Path(s) or Path(s) in place.parents for s in shown)]
