"""A server on a loop in a thread of its own, for tests whose own loop is busy or absent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

_SECONDS = 10


class Server(Protocol):
    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@contextmanager
def served(server: Server, name: str) -> Generator[None, None, None]:
    """Started before the block, stopped after it, the thread and its loop gone."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(_SECONDS)
        yield
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_SECONDS)
        loop.close()
