"""No sandbox: a child process with limits and an empty environment. For machines where nothing else works.

The program can read whatever the user can, and use the network. Inputs and the work directory are laid out as in the
other kinds, in a folder of their own, so that paths relative to the work directory hold here too.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from skillopt.agents.sandbox.base import LIMITS, WORK, Kind, Limits, Ran, SandboxError
from skillopt.agents.sandbox.box import Job, drive
from skillopt.agents.sandbox.inputs import placed
from skillopt.agents.sandbox.plans import environment as surroundings
from skillopt.agents.sandbox.plans import plan, starter


@dataclass(frozen=True, slots=True)
class Plain:
    """Runs programs unprotected; only ever by the user's explicit choice."""

    name: ClassVar[Kind] = "none"

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
        with tempfile.TemporaryDirectory(prefix="skillopt-plain-", ignore_cleanup_errors=True) as name:
            root = _laid_out(name, readable)
            inner = str(root / WORK.lstrip("/"))
            path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
            around = surroundings(path, inner, str(root / "tmp"), environment)
            todo = plan(argv, around, limits, work=inner, isolated=False)
            command = starter(str(Path(__file__).parent))
            return await drive(Job(command, todo, work, limits, stdin))


def _laid_out(folder: str, readable: Sequence[Path | tuple[Path, str]]) -> Path:
    root = Path(folder).resolve()
    (root / WORK.lstrip("/")).mkdir()
    (root / "tmp").mkdir()
    for source, place in placed(readable):
        target = root / place.lstrip("/")
        if ".." in target.parts:
            raise SandboxError(f"An input cannot be placed at {place!r}: give a path without `..`.")
        target.parent.mkdir(parents=True, exist_ok=True)
        if Path(source).is_dir():
            # A corpus is too large to copy for each run.
            target.symlink_to(source)
        else:
            shutil.copyfile(source, target)
            target.chmod(0o444)
    return root
