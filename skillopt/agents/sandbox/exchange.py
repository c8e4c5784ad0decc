"""The talk with the first process of a box: files in, a beginning, an exit code, files out."""

from __future__ import annotations

import asyncio
import marshal
import os
import socket
from pathlib import Path

from skillopt.agents.sandbox.base import Limits, SandboxError
from skillopt.agents.sandbox.inside import parcel
from skillopt.agents.sandbox.inside.plan import Plan
from skillopt.agents.sandbox.results import Arrival

_START_SECONDS = 30
_COLLECT_SECONDS = 60
_NOTHING_CAME = "(the files did not arrive whole)"


class Broken(Exception):
    """The box never began; what its first process said of it, if anything."""


class Exchange:
    """Our end of the socket. Nothing that is heard is trusted."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, work: Path, limits: Limits) -> None:
        self._reader = reader
        self._writer = writer
        self._work = work
        self._room = limits.disk_mb << 20

    @classmethod
    async def over(cls, control: socket.socket, work: Path, limits: Limits) -> Exchange:
        reader, writer = await asyncio.open_connection(sock=control)
        return cls(reader, writer, work, limits)

    def close(self) -> None:
        self._writer.transport.abort()

    async def begin(self, plan: Plan, stdin: bytes) -> frozenset[bytes]:
        """Send everything and wait for the program to start. Returns the names of the files sent."""
        try:
            return await asyncio.wait_for(self._begin(plan, stdin), _START_SECONDS)
        except asyncio.TimeoutError:
            raise Broken(f"nothing happened for {_START_SECONDS} s") from None
        except (OSError, asyncio.IncompleteReadError, ValueError):
            raise Broken from None

    async def _begin(self, plan: Plan, stdin: bytes) -> frozenset[bytes]:
        await self._say(parcel.PLAN, marshal.dumps(dict(plan)))
        seeded = await self._seed()
        if stdin:
            await self._say(parcel.STDIN)
            for start in range(0, len(stdin), parcel.CHUNK_BYTES):
                await self._say(parcel.CHUNK, stdin[start : start + parcel.CHUNK_BYTES])
        await self._say(parcel.END)
        kind, payload = await self._hear()
        if kind != parcel.BEGUN:
            raise Broken(payload.decode(errors="replace"))
        return frozenset(seeded)

    async def _seed(self) -> list[bytes]:
        seeded: list[bytes] = []
        work = os.fsencode(self._work)
        for kind, payload in parcel.pack(work, self._room, {}):
            if kind != parcel.REFUSED:
                await self._say(kind, payload)
            elif _is_file(self._work, payload):
                raise SandboxError(
                    f"The work directory {self._work} holds more than the {self._room >> 20} MB that a sandboxed "
                    "program may use (Limits.disk_mb), or a file that cannot be read. Give large inputs as `readable`."
                )
            if kind in (parcel.FILE, parcel.PROGRAM):
                seeded.append(payload)
        return seeded

    async def exit_code(self) -> int | None:
        """The program's exit code; None where the box ended without one."""
        try:
            kind, payload = await self._hear()
            return int(payload) if kind == parcel.EXIT else None
        except (OSError, asyncio.IncompleteReadError, ValueError):
            return None

    async def results(self, seeded: frozenset[bytes]) -> tuple[str, ...]:
        """Let the work directory become what the program left. Returns the names of what was not taken."""
        with Arrival(self._work, self._room, seeded) as arrival:
            try:
                await asyncio.wait_for(self._take(arrival), _COLLECT_SECONDS)
            except (OSError, asyncio.IncompleteReadError, ValueError, asyncio.TimeoutError):
                return (_NOTHING_CAME, *arrival.refused)
            arrival.settle()
            return arrival.refused

    async def _take(self, arrival: Arrival) -> None:
        while (frame := await self._hear())[0] != parcel.END:
            arrival.take(*frame)

    async def _say(self, kind: bytes, payload: bytes = b"") -> None:
        self._writer.write(parcel.framed(kind, payload))
        await self._writer.drain()

    async def _hear(self) -> tuple[bytes, bytes]:
        kind, length = parcel.header(await self._reader.readexactly(parcel.HEADER))
        return kind, await self._reader.readexactly(length)


def _is_file(work: Path, name: bytes) -> bool:
    path = work / os.fsdecode(name)
    return path.is_file() and not path.is_symlink()
