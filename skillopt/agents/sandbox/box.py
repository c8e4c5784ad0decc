"""One run: start the box, send the files, watch it, take the files, end it. The same for every kind.

Whatever happens in between (an error, a cancelled task), the box is killed and reaped before `drive` is left.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from skillopt.agents.sandbox import tree
from skillopt.agents.sandbox.base import Ended, Limits, Ran, SandboxError
from skillopt.agents.sandbox.exchange import Broken, Exchange
from skillopt.agents.sandbox.inside.plan import Plan

T = TypeVar("T")
_REAP_SECONDS = 5
_FLOOD = 16 << 20
"""Output beyond its limit that is still read; a program that writes more does nothing else."""
_PIECE = 1 << 16
_SIGXCPU = -24


@dataclass(frozen=True, slots=True)
class Job:
    """A box to be driven: the command that starts it and what its first process is told."""

    command: Sequence[str]
    plan: Plan
    work: Path
    limits: Limits
    stdin: bytes


@dataclass(frozen=True, slots=True)
class _End:
    ended: Ended
    seconds: float
    code: int | None = None
    refused: tuple[str, ...] = ()


class _Stream:
    """The first bytes of a stream, and how many came after them."""

    def __init__(self, pipe: asyncio.StreamReader | None, limit: int, flooded: asyncio.Event) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.discarded = 0
        assert pipe is not None
        self.drained = asyncio.ensure_future(self._drain(pipe, flooded))

    async def _drain(self, pipe: asyncio.StreamReader, flooded: asyncio.Event) -> None:
        while piece := await pipe.read(_PIECE):
            room = self._limit - len(self._kept)
            self._kept += piece[:room]
            self.discarded += max(0, len(piece) - room)
            if self.discarded > _FLOOD:
                flooded.set()

    def text(self) -> str:
        return self._kept.decode(errors="replace")


async def drive(job: Job) -> Ran:
    """Run the job to its end. Raises SandboxError where the box itself could not be made."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = await _started(job.command, theirs)
        flooded = asyncio.Event()
        pipes = (process.stdout, process.stderr)
        streams = tuple(_Stream(pipe, job.limits.output_bytes, flooded) for pipe in pipes)
        try:
            end = await _attempt(job, process.pid, ours, flooded)
        finally:
            # The box must be dead before the last output is awaited, and on every way out.
            await _ended(process, isolated=job.plan["isolated"])
            await asyncio.wait([stream.drained for stream in streams], timeout=_REAP_SECONDS)
            for stream in streams:
                await _dropped(stream.drained)
    out, err = streams
    if isinstance(end, Broken):
        raise SandboxError(f"The sandbox could not be started: {str(end) or err.text().strip() or 'it said nothing'}")
    discarded = out.discarded + err.discarded
    return Ran(end.code, out.text(), err.text(), end.seconds, end.ended, discarded, end.refused)


async def _started(command: Sequence[str], control: socket.socket) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *command, stdin=control.fileno(), stdout=pipe, stderr=pipe, env={}, cwd="/", start_new_session=True
    )


async def _attempt(job: Job, pid: int, control: socket.socket, flooded: asyncio.Event) -> _End | Broken:
    """From the first file sent to the last one taken. A box that never began is a `Broken`, returned."""
    exchange = await Exchange.over(control, job.work, job.limits)
    isolated = job.plan["isolated"]
    watching: asyncio.Future[Ended] | None = None
    try:
        seeded = await exchange.begin(job.plan, job.stdin)
        since = time.monotonic()
        watching = asyncio.ensure_future(tree.watch(pid, job.limits, isolated=isolated))
        code = await _first(exchange.exit_code(), watching, flooded, job.limits.seconds)
        seconds = time.monotonic() - since
        if isinstance(code, str):
            return _End(code, seconds)
        if code is None or code == _SIGXCPU:
            return _End("killed" if code is None else "timeout", seconds)
        refused = await _first(exchange.results(seeded), watching, flooded, None)
        if isinstance(refused, str):
            return _End(refused, seconds)
        return _End("exit" if code >= 0 else "killed", seconds, code, refused)
    except Broken as broken:
        return broken
    finally:
        if watching is not None:
            await _dropped(watching)
        exchange.close()


async def _first(
    work: Coroutine[None, None, T], watching: asyncio.Future[Ended], flooded: asyncio.Event, seconds: float | None
) -> T | Ended:
    """The result of `work`, or the name of the limit that was broken before it was there."""
    working = asyncio.ensure_future(work)
    flood = asyncio.ensure_future(flooded.wait())
    try:
        await asyncio.wait({working, watching, flood}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        return watching.result() if watching.done() else "output" if flood.done() else "timeout"
    finally:
        await _dropped(working)
        await _dropped(flood)


async def _dropped(future: asyncio.Future[T]) -> None:
    future.cancel()
    await asyncio.gather(future, return_exceptions=True)


async def _ended(process: asyncio.subprocess.Process, *, isolated: bool) -> None:
    """Killed if it still runs, and reaped."""
    if process.returncode is None:
        tree.end(process.pid, isolated=isolated)
    try:
        await asyncio.wait_for(process.wait(), _REAP_SECONDS)
    except asyncio.TimeoutError:
        tree.end(process.pid, isolated=False)
        await process.wait()
