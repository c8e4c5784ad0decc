"""A running local model: the worker process, its loopback address, and three calls to it.

The address is guarded by a key made for this process alone. A worker that died is an ordinary connection error: the
gateway tries again, and the next call starts a new one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Protocol

import aiohttp

from skillopt.errors import ConfigError, ModelError
from skillopt.types import JSON

RUNTIME = "xllamacpp"
INSTALL = (
    'a model on this machine needs its runtime: pip install "skillopt[local]". Or use a model with a key: set '
    "OPENAI_API_KEY (docs/guide/backends.md lists the other vendors) and name the model (--target_model, "
    "--optimizer_model)"
)
STARTING = 120.0


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is told; all of it stays the same for a whole run, else greedy answers may change."""

    path: Path
    threads: int
    slots: int
    context: int

    @property
    def connections(self) -> int:
        """The server gives a thread to every open connection: one connection more than threads waits for ever."""
        return self.slots + 2

    def line(self, key: str) -> bytes:
        row = {"path": str(self.path), "threads": self.threads, "slots": self.slots, "context": self.context}
        return (json.dumps(row | {"connections": self.connections, "key": key}) + "\n").encode()


def check_runtime() -> None:
    """Say what to install before anything is fetched or started."""
    if find_spec(RUNTIME) is None:
        raise ConfigError(INSTALL)


class Server(Protocol):
    """What the provider needs of a running model; tests give a script."""

    async def post(self, route: str, body: JSON) -> JSON: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class WorkerServer:
    """Started at the first call; `close` ends the process."""

    order: Order
    _process: asyncio.subprocess.Process | None = None
    _session: aiohttp.ClientSession | None = None
    _address: str = ""
    _said: IO[bytes] | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def post(self, route: str, body: JSON) -> JSON:
        session = await self._started()
        try:
            async with session.post(f"{self._address}{route}", json=body) as reply:
                answer: JSON = await reply.json()
        except aiohttp.ClientError as error:
            words = self._last_words()
            await self.close()
            raise ModelError("connection", f"the local model has stopped: {error}. {words}") from error
        if isinstance(answer, dict) and "error" in answer:
            raise _refusal(answer["error"])
        return answer

    async def close(self) -> None:
        session, self._session = self._session, None
        process, self._process = self._process, None
        if session is not None:
            await session.close()
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
        if self._said is not None:
            self._said.close()
            self._said = None

    async def _started(self) -> aiohttp.ClientSession:
        async with self._starting:
            if self._session is not None and self._process is not None and self._process.returncode is None:
                return self._session
            await self.close()
            key = secrets.token_hex(16)
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "skillopt.model.local_worker",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=self._said,
            )  # fmt: skip
            self._address = await self._greeting(self._process, key)
            self._session = aiohttp.ClientSession(
                headers={"Authorization": f"Bearer {key}"},
                timeout=aiohttp.ClientTimeout(total=None),
                connector=aiohttp.TCPConnector(limit=self.order.connections, force_close=True),
            )
            return self._session

    async def _greeting(self, process: asyncio.subprocess.Process, key: str) -> str:
        assert process.stdin and process.stdout
        try:
            process.stdin.write(self.order.line(key))
            await process.stdin.drain()
            while line := await asyncio.wait_for(process.stdout.readline(), STARTING):
                if line.startswith(b'{"address"'):
                    return str(json.loads(line)["address"])
        except (asyncio.TimeoutError, OSError):
            process.kill()
        await process.wait()
        words = self._last_words()
        await self.close()
        if f"No module named '{RUNTIME}'" in words:
            raise ConfigError(INSTALL)
        raise ModelError("not_found", f"the local model {self.order.path} did not start. {words}")

    def _last_words(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip()[-500:]


def _refusal(error: JSON) -> ModelError:
    message = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    kind = str(error.get("type", "")) if isinstance(error, dict) else ""
    code = error.get("code") if isinstance(error, dict) else None
    if kind == "exceed_context_size_error":
        return ModelError("context_length", f"{message}; raise model.local_context or shorten the skill")
    return ModelError("server" if isinstance(code, int) and code >= 500 else "bad_request", f"local model: {message}")
