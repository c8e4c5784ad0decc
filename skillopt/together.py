"""Running things side by side so that they end together: no task outlives the call that started it.

`asyncio.TaskGroup` would do, but Python 3.10 lacks it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
Work = Coroutine[Any, Any, T]


async def together(works: Iterable[Work[T]]) -> tuple[T, ...]:
    """All results in the given order; the first error cancels the rest."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        await _end(tasks)


async def as_they_come(source: AsyncIterator[Work[T]]) -> tuple[T, ...]:
    """Start each work as soon as the source gives it. An error, of the source or of a work, cancels everything."""
    tasks: list[asyncio.Task[T]] = []
    reader = asyncio.ensure_future(_start_all(source, tasks))
    try:
        await asyncio.wait({reader})
        if not reader.cancelled():
            reader.result()
        return tuple(await asyncio.gather(*tasks))
    finally:
        await _end([reader, *tasks])


async def _start_all(source: AsyncIterator[Work[T]], tasks: list[asyncio.Task[T]]) -> None:
    """Fill `tasks`; when one of them fails, stop reading at once instead of paying for more."""
    reader = asyncio.current_task()

    def stop_reading(task: asyncio.Task[T]) -> None:
        if reader and not task.cancelled() and task.exception():
            reader.cancel()

    async for work in source:
        task = asyncio.ensure_future(work)
        task.add_done_callback(stop_reading)
        tasks.append(task)


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
