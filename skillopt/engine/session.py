"""One process at work on one run: the journal opened and checked, its readers attached, its end recorded.

Files and displays hear of an event only after it is durable, so what a person sees is what a restart will see.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillopt.errors import SkillOptError
from skillopt.journal.artifacts import check_unedited, update_artifacts, write_artifacts
from skillopt.journal.events import Event, RunResumed, RunStarted, RunStopped
from skillopt.journal.log import CommitHook, Journal
from skillopt.journal.runs import check_same
from skillopt.journal.view import RunView
from skillopt.model.meter import Stats
from skillopt.types import Usage


class Watcher(Protocol):
    """Whoever shows a run to a person. `event` is called after the event is durable and folded into the view."""

    def start(self, view: RunView, target: Stats, optimizer: Stats) -> None: ...

    def event(self, view: RunView, event: Event) -> None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Session:
    journal: Journal
    view: RunView
    resumed: bool


@asynccontextmanager
async def session(
    run_dir: Path,
    started: RunStarted,
    watch: Watch,
    on_commit: CommitHook | None = None,
    spent: Callable[[], Usage] = Usage,
) -> AsyncGenerator[Session, None]:
    """Open a run for work. A run that is already finished is shown, not touched."""
    async with Journal.open(run_dir, on_commit=on_commit) as journal:
        view = _checked(journal, started, run_dir)
        resumed = len(journal) > 0
        _attach(journal, view, run_dir, watch.watcher)
        watch.begin(view)
        try:
            if not resumed:
                await journal.append("run", started)
            elif view.finished is None:
                await journal.append(f"session/{len(journal)}/resumed", RunResumed())
            yield Session(journal, view, resumed)
        except (SkillOptError, asyncio.CancelledError, KeyboardInterrupt) as error:
            reason = str(error) or "interrupted"
            await journal.append(f"session/{len(journal)}/stopped", RunStopped(reason=reason, spent=spent()))
            raise
        finally:
            watch.end()


@dataclass(frozen=True, slots=True)
class Watch:
    """A watcher, if there is one, with the live counts it shows."""

    watcher: Watcher | None
    target: Stats
    optimizer: Stats

    def begin(self, view: RunView) -> None:
        if self.watcher:
            self.watcher.start(view, self.target, self.optimizer)

    def end(self) -> None:
        if self.watcher:
            self.watcher.stop()


def _checked(journal: Journal, started: RunStarted, run_dir: Path) -> RunView:
    """The read model of what is on record, once it is certain that this is the same experiment, untouched by hand."""
    view = RunView.of(journal.replay())
    if (old := journal.recorded("run")) is not None and isinstance(old, RunStarted):
        check_same(old, started, run_dir)
        check_unedited(view, run_dir)
        write_artifacts(view, run_dir)
    return view


def _attach(journal: Journal, view: RunView, run_dir: Path, watcher: Watcher | None) -> None:
    def heard(event: Event) -> None:
        view.apply(event)
        update_artifacts(view, run_dir, event)
        if watcher:
            watcher.event(view, event)

    journal.subscribe(heard)
