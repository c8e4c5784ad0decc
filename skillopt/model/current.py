"""The run that a benchmark's synchronous code belongs to, found through a context variable.

Threads that a benchmark starts itself do not inherit the context. They find the run as long as it is the only one in
the process, which is why the runs that are open are also kept in one list.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from skillopt.errors import SkillOptError
from skillopt.model.gateway import Gateway
from skillopt.model.types import Completion, Provider, Request
from skillopt.model.witness import Witnesses
from skillopt.types import Usage


@dataclass(slots=True)
class Runtime:
    """One run's two models, as synchronous code sees them."""

    target: Gateway
    optimizer: Gateway
    loop: asyncio.AbstractEventLoop
    reasoning_effort: str | None = None
    temperature: float | None = None
    deployment: Callable[[str], Provider] | None = None
    counted_from: dict[str, Usage] = field(default_factory=dict[str, Usage])
    witnesses: Witnesses = field(default_factory=Witnesses)

    def call(self, provider: Provider, request: Request) -> Completion:
        """Make a call on the run's loop and wait for it in this thread."""
        if _running() is self.loop:
            raise SkillOptError(
                "chat_target and its kin wait for an answer, so they cannot be called on the event loop itself: "
                "call them from a worker thread (await asyncio.to_thread(...)), or await the agent's chat method"
            )
        if self.loop.is_closed():
            raise SkillOptError("the run this call belongs to has ended")
        future = asyncio.run_coroutine_threadsafe(provider.complete(request), self.loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError as exc:
            raise SkillOptError("the run this call belongs to was stopped") from exc
        except BaseException:
            future.cancel()
            raise

    def stages(self) -> dict[str, Usage]:
        """What each stage has used, over both roles."""
        total: dict[str, Usage] = {}
        for gateway in {id(g): g for g in (self.target, self.optimizer)}.values():
            for stage, usage in gateway.stats.stages.items():
                total[stage] = total.get(stage, Usage()) + usage
        return total


class _Open:
    """The runs that are open in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: list[Runtime] = []

    def add(self, runtime: Runtime) -> None:
        with self._lock:
            self._runs.append(runtime)

    def remove(self, runtime: Runtime) -> None:
        with self._lock:
            self._runs = [each for each in self._runs if each is not runtime]

    def all(self) -> list[Runtime]:
        with self._lock:
            return list(self._runs)


_OPEN = _Open()
_CURRENT: ContextVar[Runtime | None] = ContextVar("skillopt_run", default=None)
_COLLECTED: ContextVar[list[Usage] | None] = ContextVar("skillopt_collected", default=None)


@contextmanager
def bind(
    target: Gateway,
    optimizer: Gateway,
    loop: asyncio.AbstractEventLoop,
    *,
    reasoning_effort: str | None = None,
    temperature: float | None = None,
    deployment: Callable[[str], Provider] | None = None,
) -> Generator[Runtime, None, None]:
    """Make these the models of `chat_target` and its kin for as long as the block lasts."""
    runtime = Runtime(target, optimizer, loop, reasoning_effort, temperature, deployment)
    token = _CURRENT.set(runtime)
    _OPEN.add(runtime)
    try:
        yield runtime
    finally:
        _OPEN.remove(runtime)
        _CURRENT.reset(token)


def current() -> Runtime:
    """The run this code belongs to."""
    if (runtime := _CURRENT.get()) is not None:
        return runtime
    runs = _OPEN.all()
    if len(runs) == 1:
        return runs[0]
    if runs:
        raise SkillOptError(
            f"{len(runs)} runs are open in this process, and this thread does not say which it belongs to: start it "
            "with contextvars.copy_context().run, or with asyncio.to_thread"
        )
    raise SkillOptError(
        "there is no run to call a model for: chat_target, chat_optimizer and their kin work inside "
        "skillopt.train and skillopt.evaluate (or the commands of the same name)"
    )


@contextmanager
def collect() -> Generator[list[Usage], None, None]:
    """Gather what the synchronous calls of this context use."""
    usages: list[Usage] = []
    token = _COLLECTED.set(usages)
    try:
        yield usages
    finally:
        _COLLECTED.reset(token)


def note(usage: Usage) -> None:
    if (usages := _COLLECTED.get()) is not None:
        usages.append(usage)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
