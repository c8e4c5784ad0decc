"""The preferred kind: bubblewrap makes the namespaces and the mounts, our first process does the rest."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

from skillopt.agents.sandbox.base import LIMITS, WORK, Kind, Limits, Ran, SandboxError
from skillopt.agents.sandbox.box import Job, drive
from skillopt.agents.sandbox.inputs import shown
from skillopt.agents.sandbox.inside.plan import Mount
from skillopt.agents.sandbox.layout import START, Layout
from skillopt.agents.sandbox.plans import Identity, plan, starter
from skillopt.agents.sandbox.plans import environment as surroundings

PROGRAMS = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
"""Where tools are looked for; not in PATH, which anyone may have set."""
_ALWAYS = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--hostname", "box", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"),
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Runs programs under `bwrap`. As an ordinary user in a user namespace; as root under a spare user number."""

    name: ClassVar[Kind] = "bubblewrap"
    program: str
    layout: Layout
    identity: Identity

    @classmethod
    def found(cls, layout: Layout, identity: Identity) -> Bubblewrap:
        program = shutil.which("bwrap", path=PROGRAMS)
        if program is None:
            raise SandboxError("bubblewrap is not installed (apt install bubblewrap, or dnf install bubblewrap)")
        return cls(program, layout, identity)

    async def run(
        self,
        argv: Sequence[str],
        *,
        work: Path,
        readable: Sequence[Path | tuple[Path, str]] = (),
        limits: Limits = LIMITS,
        stdin: bytes = b"",
        environment: Mapping[str, str] = {},
    ) -> Ran:
        with shown(readable, self.layout, stranger=self.identity.stranger) as inputs:
            mounts = self.layout.mounts(inputs, limits)
            command = (self.program, *_ALWAYS, *self._rights(), *options(mounts), "--", *starter(START))
            todo = plan(
                argv,
                surroundings(self.layout.path, WORK, "/tmp", environment),
                limits,
                uid=self.identity.uid(),
                counted=self.identity.counted,
            )
            return await drive(Job(command, todo, work, limits, stdin))

    def _rights(self) -> tuple[str, ...]:
        if not self.identity.stranger:
            return ("--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
        # Just enough to become somebody else, which takes these away as well.
        return ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")


def options(mounts: Sequence[Mount]) -> tuple[str, ...]:
    """The mounts as bubblewrap's options; what was made to be built upon is closed at the end."""
    words: list[str] = []
    made: set[str] = {row[2] for row in mounts}
    for kind, source, place, size in mounts:
        # Left alone, bubblewrap makes some of them for their owner only.
        for above in reversed([str(folder) for folder in PurePosixPath(place).parents][:-1]):
            words += [] if above in made or _inside_bind(above, mounts) else ["--dir", above]
            made.add(above)
        if kind == "bind":
            words += ["--ro-bind", source, place]
        elif kind == "device":
            words += ["--dev-bind", source, place]
        elif kind == "tmpfs":
            words += ["--perms", "0777", "--size", str(size), "--tmpfs", place]
        elif kind == "mask":
            words += ["--tmpfs", place]
        elif kind == "proc":
            words += ["--proc", place]
        else:
            words += ["--symlink", source, place]
    for kind, _, place, _ in mounts:
        if kind == "mask":
            words += ["--remount-ro", place]
    return (*words, "--remount-ro", "/")


def _inside_bind(path: str, mounts: Sequence[Mount]) -> bool:
    return any(kind == "bind" and path.startswith(f"{place}/") for kind, _, place, _ in mounts)
