"""The words of the sandbox: what a run may use, how it ended, and what every kind of sandbox can do.

Code that a model has written runs nowhere else. A benchmark asks for a `Sandbox` and never learns which kind it got.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from skillopt.errors import SkillOptError

Kind = Literal["bubblewrap", "namespaces", "none"]
Ended = Literal["exit", "timeout", "memory", "output", "disk", "processes", "killed"]
"""`exit` is the program's own end; `killed` is an end by a signal that no limit of ours had sent."""

WORK = "/box"
"""Where the work directory lies inside. Not `/work`: people keep checkouts, and so interpreters, there."""
INPUT = "/input"
"""Where an input lies that was given without a place of its own: `/input/<name>`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. Memory and processes count the whole tree; `disk_mb` is for `/box` and again for `/tmp`."""

    seconds: float = 120
    memory_mb: int = 2048
    processes: int = 64
    output_bytes: int = 64_000
    """Of each of the two streams; the rest is read and thrown away."""
    disk_mb: int = 256
    open_files: int = 256


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run went. `code` is None where the program was ended from outside, negative after a signal."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    ended: Ended
    discarded: int = 0
    """Bytes of output beyond the limit."""
    refused: tuple[str, ...] = ()
    """What lay in the work directory and was not brought out: links, special files, more than fits the limit."""

    @property
    def ok(self) -> bool:
        return self.ended == "exit" and self.code == 0


class Sandbox(Protocol):
    """Runs a program on a work directory.

    `work` is copied in and, when the program has ended by itself, becomes what the program left of it; a run that was
    ended from outside leaves it as it was. The program starts in its work directory, so paths relative to it hold in
    every kind. `readable` are files and folders it may read, at `/input/<name>` or at a place of the caller's choice.
    """

    name: ClassVar[Kind]

    async def run(
        self,
        argv: Sequence[str],
        *,
        work: Path,
        readable: Sequence[Path | tuple[Path, str]] = (),
        limits: Limits = LIMITS,
        stdin: bytes = b"",
        environment: Mapping[str, str] = {},
    ) -> Ran: ...


class SandboxError(SkillOptError):
    """The sandbox itself failed, or was asked for something it must not do. Never the program's fault."""

    exit_code = 2
