"""Single flight: callers who want the same thing at the same time share one running task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

T = TypeVar("T")


class _Flight(Generic[T]):
    """`doomed` once the last caller has been cancelled: newcomers wait for its end instead of joining."""

    __slots__ = ("doomed", "task", "waiters")

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task
        self.waiters: list[asyncio.Future[T]] = []
        self.doomed = False

    def land(self, result: T) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(result)

    def fail(self, error: BaseException) -> None:
        for waiter in self.waiters:
            if isinstance(error, asyncio.CancelledError):
                waiter.cancel()
            elif not waiter.done():
                waiter.set_exception(error)


class Flights(Generic[T]):
    """The tasks that are running now, by key."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    async def share(self, key: str, start: Callable[[], Coroutine[None, None, T]]) -> T:
        """Join the running task of a key, or start it.

        All callers get its result or its error. A caller that is cancelled leaves the task to the others, or ends it
        and waits for its end if alone.
        """
        while (flight := self._flights.get(key)) is not None and flight.doomed and not flight.task.done():
            await asyncio.wait({flight.task})
        loop = asyncio.get_running_loop()
        if flight is None or flight.task.done():
            flight = self._flights[key] = _Flight(loop.create_task(self._fly(key, start)))
        waiter: asyncio.Future[T] = loop.create_future()
        flight.waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            flight.waiters.remove(waiter)
            if not flight.waiters and not flight.task.done():
                await self._end(key, flight)
            raise

    async def _fly(self, key: str, start: Callable[[], Coroutine[None, None, T]]) -> None:
        """Each caller has a future of its own, so that cancelling one caller reaches nobody else."""
        try:
            result = await start()
        except Exception as error:  # noqa: BLE001 - it is raised to every caller
            self._flights.pop(key).fail(error)
        except BaseException as error:
            self._flights.pop(key).fail(error)
            raise
        else:
            self._flights.pop(key).land(result)

    async def _end(self, key: str, flight: _Flight[T]) -> None:
        flight.doomed = True
        flight.task.cancel()
        try:
            await asyncio.wait({flight.task})
        finally:
            # A task cancelled before its first step never reached its own clean-up.
            if flight.task.done() and self._flights.get(key) is flight:
                del self._flights[key]
