"""The kind for machines without bubblewrap: `unshare` makes the namespaces, our first process the mounts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from skillopt.agents.sandbox.base import LIMITS, WORK, Kind, Limits, Ran, SandboxError
from skillopt.agents.sandbox.box import Job, drive
from skillopt.agents.sandbox.bubblewrap import PROGRAMS
from skillopt.agents.sandbox.inputs import shown
from skillopt.agents.sandbox.layout import Layout
from skillopt.agents.sandbox.plans import Identity, plan, starter
from skillopt.agents.sandbox.plans import environment as surroundings

_ALWAYS = ("--mount", "--ipc", "--uts", "--net", "--pid", "--cgroup", "--fork", "--kill-child=SIGKILL")

_REMARK = re.compile(r"unshare: .*\n\Z")
# Not as root of the namespace: much in /proc would then belong to the program.
_OWN_USERS = ("--user", "--map-user=1000", "--map-group=1000", "--keep-caps")


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Runs programs under `unshare` of util-linux. Needs Linux 5.12 for read-only trees."""

    name: ClassVar[Kind] = "namespaces"
    program: str
    layout: Layout
    identity: Identity

    @classmethod
    def found(cls, layout: Layout, identity: Identity) -> Namespaces:
        program = shutil.which("unshare", path=PROGRAMS)
        if program is None:
            raise SandboxError("unshare is not installed (it is part of util-linux)")
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
        own = () if self.identity.stranger else _OWN_USERS
        command = (self.program, *own, *_ALWAYS, *starter(str(Path(__file__).parent)))
        with shown(readable, self.layout, stranger=self.identity.stranger) as inputs:
            todo = plan(
                argv,
                surroundings(self.layout.path, WORK, "/tmp", environment),
                limits,
                mounts=self.layout.mounts(inputs, limits),
                uid=self.identity.uid(),
                counted=self.identity.counted,
            )
            ran = await drive(Job(command, todo, work, limits, stdin))
        # The starter remarks upon the death of what it started; that is no word of the program's.
        return replace(ran, stderr=_REMARK.sub("", ran.stderr)) if ran.code is None else ran
