"""Engine processes, reused from game to game: as many as there are games under way, and none without a parent.

No thread waits for them: each is a socket on the run's loop. A process that died, hung or grew too large is replaced;
games are deterministic, so a game whose process was lost is led to the same place in a new one, once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import ModelError
from skillopt.types import JSON

logger = logging.getLogger(__name__)

_LONGEST_ANSWER = 1 << 24
_IDLE_SECONDS = 60.0
_REAP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout` for one command in seconds; a process is replaced after so many `games` or beyond so many megabytes."""

    timeout: float = 120.0
    games: int = 50
    memory: int = 400


@dataclass(frozen=True, slots=True)
class Scene:
    """What the player perceives: a text, the commands that are possible now, and whether the goal is reached."""

    text: str
    commands: tuple[str, ...]
    won: bool


class EngineLost(Exception):
    """The process ended, gave no answer in time, or said that it failed."""


class Worker:
    """One engine process. While an answer is due it is `busy`, and of no use to anybody else."""

    def __init__(self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._process, self._reader, self._writer = process, reader, writer
        self.busy = False
        self.games = 0
        self.memory = 0
        self.idle_since = 0.0

    @classmethod
    async def started(cls) -> Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            process = _process(theirs)
        try:
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_LONGEST_ANSWER)
        except BaseException:
            ours.close()
            process.kill()
            process.wait()
            raise
        return cls(process, reader, writer)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, request: Mapping[str, JSON], timeout: float) -> Scene:
        self.busy = True
        self.games += "game" in request
        try:
            self._writer.write(json.dumps(request).encode() + b"\n")
            answer = await asyncio.wait_for(self._reader.readline(), timeout)
        except asyncio.TimeoutError as error:
            raise EngineLost(f"no answer within {timeout:g} s") from error
        except (OSError, ValueError) as error:
            raise EngineLost(str(error)) from error
        if not answer.endswith(b"\n"):
            raise EngineLost(f"process {self.pid} ended")
        told = json.loads(answer)
        if "error" in told:
            raise EngineLost(str(told["error"]))
        self.busy, self.memory = False, int(told["memory"])
        return Scene(str(told["text"]), tuple(told["commands"]), bool(told["won"]))

    def end(self) -> None:
        """At once: an engine has nothing to put in order."""
        self._writer.close()
        self._process.kill()
        try:
            self._process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            logger.warning("the engine process %d does not end", self.pid)


class Pool:
    """The engines of one event loop. They end with it: that its tasks are cancelled, as by `asyncio.run`, is enough."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self._all: set[Worker] = set()
        self._idle: list[Worker] = []
        self._keeper: asyncio.Task[None] | None = None

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(worker.pid for worker in self._all)

    @asynccontextmanager
    async def play(self, path: Path) -> AsyncGenerator[Game, None]:
        """A game, and a process for it until the block is left."""
        game = Game(self, path)
        try:
            yield game
        finally:
            game.leave()

    async def take(self) -> Worker:
        if self._idle:
            return self._idle.pop()
        if self._keeper is None:
            self._keeper = self.loop.create_task(self._keep())
        worker = await Worker.started()
        self._all.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """For the next game, unless it stands in the middle of a command or has done enough."""
        spent = worker.games >= self.limits.games or worker.memory >= self.limits.memory
        if worker.busy or spent or worker not in self._all:
            self._end(worker)
        else:
            worker.idle_since = time.monotonic()
            self._idle.append(worker)

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None

    async def _keep(self) -> None:
        try:
            while True:
                await asyncio.sleep(_IDLE_SECONDS)
                late = time.monotonic() - _IDLE_SECONDS
                for worker in [each for each in self._idle if each.idle_since < late]:
                    self._end(worker)
        finally:
            for worker in tuple(self._all):
                self._end(worker)
            await asyncio.sleep(0)  # lets the loop close its ends of the sockets

    def _end(self, worker: Worker) -> None:
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        worker.end()


class Game:
    """One game from its beginning. What cannot be played to the end for the machine's sake is missing data."""

    def __init__(self, pool: Pool, path: Path) -> None:
        self._pool, self._path = pool, path
        self._worker: Worker | None = None
        self._past: list[Mapping[str, JSON]] = []
        self._lost = False

    async def start(self) -> Scene:
        return await self._reach({"game": str(self._path)})

    async def step(self, command: str) -> Scene:
        return await self._reach({"command": command})

    def leave(self) -> None:
        if self._worker is not None:
            self._pool.give_back(self._worker)
            self._worker = None

    async def _reach(self, request: Mapping[str, JSON]) -> Scene:
        while True:
            try:
                scene = await self._asked(request)
            except EngineLost as error:
                self.leave()
                if self._lost:
                    said = f"the game engine failed twice in {self._path} at step {len(self._past)}: {error}"
                    raise ModelError("engine", said) from error
                logger.warning("%s: the game engine failed (%s); the game is taken up in a new one", self._path, error)
                self._lost = True
            else:
                self._past.append(request)
                return scene

    async def _asked(self, request: Mapping[str, JSON]) -> Scene:
        timeout = self._pool.limits.timeout
        if self._worker is None:
            self._worker = await self._pool.take()
            for past in self._past:
                await self._worker.ask(past, timeout)
        return await self._worker.ask(request, timeout)


def _process(line: socket.socket) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "skillopt.envs.alfworld.worker", str(os.getpid()))
    return subprocess.Popen(command, stdin=line.fileno(), close_fds=True)
