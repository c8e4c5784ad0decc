"""A child process and all its descendants, with a time limit: whatever happens, none of them outlives the call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skillopt.agents.sandbox import tree
from skillopt.errors import SkillOptError

LONGEST_LINE = 32 << 20
"""A picture that a program read comes back in one line of its stream."""
_ERRORS_KEPT = 8_000
_PIECE = 1 << 16
_REAP_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is None where the time was up."""

    code: int | None
    stderr: str
    seconds: float


async def run(
    command: Sequence[str],
    *,
    stdin: bytes,
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    heard: Callable[[bytes], None],
    isolated: bool,
) -> Ended:
    """Run to the end; `heard` gets each line of standard output. `isolated`: the child is the starter of a box."""
    began = time.monotonic()
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment), cwd=folder, start_new_session=True
        )
    except OSError as error:
        raise SkillOptError(f"{command[0]} could not be started: {error.strerror or error}") from error
    errors = bytearray()
    work = asyncio.ensure_future(_talk(process, stdin, heard, errors))
    try:
        done, _ = await asyncio.wait({work}, timeout=seconds)
        code = await work if done else None
    finally:
        await _end(process, isolated=isolated)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    return Ended(code, errors.decode(errors="replace"), time.monotonic() - began)


async def _talk(
    process: asyncio.subprocess.Process, stdin: bytes, heard: Callable[[bytes], None], errors: bytearray
) -> int:
    assert process.stdout is not None and process.stderr is not None
    await asyncio.gather(_tell(process, stdin), _lines(process.stdout, heard), _tail(process.stderr, errors))
    return await process.wait()


async def _tell(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    assert process.stdin is not None
    # A program that ends without reading has its reasons, and says them on its way out.
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def _lines(stream: asyncio.StreamReader, heard: Callable[[bytes], None]) -> None:
    rest = bytearray()
    while piece := await stream.read(_PIECE):
        if b"\n" not in piece:
            # A line without end is dropped as it comes, not kept.
            if len(rest) > LONGEST_LINE:
                rest.clear()
            rest += piece
            continue
        *lines, last = bytes(rest + piece).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            heard(line)
    heard(bytes(rest))


async def _tail(stream: asyncio.StreamReader, kept: bytearray) -> None:
    while piece := await stream.read(_PIECE):
        kept += piece
        del kept[:-_ERRORS_KEPT]


async def _end(process: asyncio.subprocess.Process, *, isolated: bool) -> None:
    """Kill what is left, and reap it. A box takes all of its processes with it; without one the group is ended too."""
    if process.returncode is None or not isolated:
        tree.end(process.pid, isolated=isolated)
    try:
        await asyncio.wait_for(process.wait(), _REAP_SECONDS)
    except asyncio.TimeoutError:
        tree.end(process.pid, isolated=False)
        await process.wait()
