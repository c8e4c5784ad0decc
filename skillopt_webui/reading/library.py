"""Keeps what was read of runs up to date: one reading task for each run that somebody looks at.

The last few runs stay in memory whole; of the others only their line in the list is kept.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from skillopt.evaluation.report import lift_on_test
from skillopt.progress.words import setting
from skillopt_webui import processes
from skillopt_webui.reading.catalogue import Catalogue, Entry
from skillopt_webui.reading.follower import SLICE, Follower
from skillopt_webui.reading.summary import Standing, standing, summarise

KEPT = 6
"""Runs held in memory whole."""
PATIENCE = 0.15
"""Seconds a page waits for its journal to be read; after that it is drawn from what is known."""
_GIVING_WAY = 0.6
_log = logging.getLogger(__name__)


class Library:
    def __init__(self, root: Path) -> None:
        self.catalogue = Catalogue(root)
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._listing: asyncio.Task[None] | None = None

    async def open(self, entry: Entry, patience: float = PATIENCE) -> Follower:
        """The run as far as it can be read within the patience; reading goes on behind."""
        follower = entry.follower = entry.follower or Follower(entry.directory)
        entry.used = time.monotonic()
        task = self._read(entry, follower)
        if task is not None:
            await asyncio.wait({task}, timeout=patience)
        self._forget()
        return follower

    def standing(self, entry: Entry) -> Standing:
        """What the journal and the process table say together."""
        known, directory = entry.summary, entry.directory
        if entry.follower is not None:
            view, error = entry.follower.view, entry.follower.error
            status, reason, last = view.status.name, view.status.reason, entry.follower.ledger.last_ts
        elif known is not None:
            status, reason, error, last = known.status, known.reason, known.error, known.last
        else:
            return Standing("starting", "not read yet")
        if status == "finished" and not error:
            return Standing("finished")
        pid, left = processes.worker(directory), processes.left_behind(directory)
        launch = processes.launch_of(directory)
        fresh = launch is not None and launch.started > last
        return standing(status, reason, error, pid=pid, left=left, quiet=time.time() - last, fresh=fresh)

    def list(self) -> tuple[Entry, ...]:
        """All runs; what is not known of them is read behind, the newest first."""
        entries = self.catalogue.entries()
        if any(e.outdated for e in entries) and (self._listing is None or self._listing.done()):
            self._listing = asyncio.create_task(self._summarise(entries))
        return entries

    async def listed(self, patience: float = PATIENCE) -> tuple[Entry, ...]:
        entries = self.list()
        if self._listing is not None and not self._listing.done():
            await asyncio.wait({self._listing}, timeout=patience)
        return entries

    async def close(self) -> None:
        tasks = [t for t in (*self._reading.values(), self._listing) if t is not None and not t.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _read(self, entry: Entry, follower: Follower) -> asyncio.Task[None] | None:
        task = self._reading.get(entry.id)
        if task is not None and not task.done():
            return task
        if not follower.look() and not follower.behind and entry.summary is not None:
            return None
        task = self._reading[entry.id] = asyncio.create_task(self._pump(entry, follower))
        return task

    async def _pump(self, entry: Entry, follower: Follower) -> None:
        stamped = entry.stamp
        while follower.advance():
            giving_way = follower.far_behind and time.monotonic() - entry.asked < _GIVING_WAY
            await asyncio.sleep(SLICE if giving_way else 0)
        if follower.view.finished is not None and not follower.lift_known:
            follower.lift_known = True
            metric = "soft" if setting(follower.view, "evaluation", "gate_metric") == "soft" else "hard"
            # A bootstrap takes a third of a second; a finished view does not change any more.
            follower.lift = await asyncio.to_thread(lift_on_test, follower.view, metric)
        entry.summary, entry.summed = summarise(follower), stamped

    async def _summarise(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            if entry.outdated:
                try:
                    await self.open(entry, patience=3600.0)
                except OSError as error:
                    _log.warning("%s cannot be read: %s", entry.directory, error)

    def _forget(self) -> None:
        held = [e for e in self.catalogue.entries() if e.follower is not None]
        idle = [e for e in held if (t := self._reading.get(e.id)) is None or t.done()]
        for entry in sorted(idle, key=lambda e: e.used)[: max(0, len(held) - KEPT)]:
            entry.follower = None
