"""Side by side, or not at all: the first error cancels the rest and waits for them, so no orphan keeps spending.

`asyncio.gather` leaves the others running and `TaskGroup` needs Python 3.11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(work: Iterable[Awaitable[T]]) -> tuple[T, ...]:
    """Run all, return results in the given order; on error or cancellation none is left behind."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
