"""Where plain code stands: its environment, and running a coroutine in a script, a notebook or a running event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


def environment() -> Mapping[str, str]:
    """The real environment, and below it what a `.env` file of the working directory says; nothing is ever printed."""
    from skillopt.model.dotenv import with_env_file

    file = Path(".env")
    return with_env_file(file.read_text(encoding="utf-8"), os.environ) if file.is_file() else os.environ


def run_anywhere(work: Work[T]) -> T:
    """The result of the work. Where a loop is already running (a notebook) it gets a thread and a loop of its own.

    An interrupt in the calling thread stops the work cleanly, as it would in a script.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    result: Future[T] = Future()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def main() -> T:
        task = asyncio.ensure_future(work())
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    def body() -> None:
        try:
            result.set_result(asyncio.run(main()))
        except BaseException as error:  # noqa: BLE001 - it is raised to the caller
            result.set_exception(error)

    thread = threading.Thread(target=body, name="skillopt-run", daemon=True)
    thread.start()
    try:
        return result.result()
    except KeyboardInterrupt:
        loop, task = started.result()
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
