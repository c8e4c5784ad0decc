"""Running a coroutine from plain code wherever it stands: a script, a notebook, inside a running event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


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
