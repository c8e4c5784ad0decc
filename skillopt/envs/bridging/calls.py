"""One call of `rollout`: in a thread, in a fresh folder, in sight, and in time.

A folder is never used twice: rollouts of the guide's kind take up the rows they find, and those of another attempt
would come back as this one's.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from skillopt.agents.function import described, in_thread
from skillopt.datasets.checks import safe_name
from skillopt.envs.batch import EnvAdapter
from skillopt.envs.bridging.environments import environment
from skillopt.envs.bridging.results import Graded, graded, missing, rows_by_id, shares
from skillopt.envs.bridging.written import written
from skillopt.errors import ModelError, SkillOptError
from skillopt.model.current import current
from skillopt.model.witness import Witness, Witnesses
from skillopt.types import JSON, Item, digest

T = TypeVar("T")
Outcome = Graded | ModelError
"""What became of an item: an attempt with its score, or why there is none."""

FILES = "adapter_files"
"""Where in a run the adapter's own files are kept: one folder for each call."""


@dataclass(frozen=True, slots=True)
class Rolling:
    """`home` is the run's folder (None: the files are thrown away); `seconds` is the limit for each item."""

    adapter: EnvAdapter
    name: str
    seed: int
    seconds: float
    home: Path | None = None

    async def __call__(self, items: Sequence[Item], skill: str) -> dict[str, Outcome]:
        """Attempt items of one split together; each has an outcome of its own."""
        with self.folder(_label(items, skill)) as folder:
            with witnessed(_marks(items, skill)) as seen:
                returned = await self._tried(items, skill, folder)
            if seen.fatal is not None:
                raise seen.fatal
            if isinstance(returned, Exception):
                raise self._failure(returned, seen) from returned
            return self._outcomes(items, rows_by_id(self.name, returned), folder, seen)

    async def _tried(self, items: Sequence[Item], skill: str, folder: Path) -> JSON | Exception:
        def work() -> JSON:
            rows = [dict(item.data) for item in items]
            return self.adapter.rollout(environment(self.adapter, rows, items[0].split, self.seed), skill, str(folder))

        try:
            return await in_time(work, self.seconds * len(items), "rollout")
        except Exception as error:  # noqa: BLE001 - what was seen of its calls says what it means
            return error

    def _failure(self, error: Exception, seen: Witness) -> Exception:
        """An error that hides a failed call is that failure; any other is the adapter's own."""
        if isinstance(error, SkillOptError):
            return error
        own = f"the rollout of {self.name} raised {described(error)}"
        return seen.unanswered or ModelError("rollout_error", own)

    def _outcomes(
        self, items: Sequence[Item], rows: Mapping[str, dict[str, JSON]], folder: Path, seen: Witness
    ) -> dict[str, Outcome]:
        alone = len(items) == 1
        found: dict[str, Outcome] = {}
        for item, share in zip(items, shares(seen, len(items)), strict=True):
            files = written(folder, item.id, alone=alone)
            lost = missing(item, rows, share)
            found[item.id] = lost or graded(self.name, item, rows[item.id], files, share)
        return found

    @contextmanager
    def folder(self, label: str) -> Generator[Path, None, None]:
        """A folder that nobody had before."""
        if self.home is None:
            with tempfile.TemporaryDirectory(prefix="skillopt-rollout-") as scratch:
                yield Path(scratch)
            return
        parent = self.home / FILES
        parent.mkdir(parents=True, exist_ok=True)
        yield Path(tempfile.mkdtemp(prefix=f"{label}-", dir=parent))


async def in_time(work: Callable[[], T], seconds: float, what: str) -> T:
    """Run in a thread of its own; a thread cannot be stopped, but one that was given up makes no more calls."""
    try:
        return await asyncio.wait_for(in_thread(work), seconds)
    except asyncio.TimeoutError as error:
        raise ModelError(
            "timeout", f"{what} gave no result within {seconds:g} s (env.exec_timeout and the time for retries)"
        ) from error


def witnessed(marks: tuple[str, ...] = ()) -> AbstractContextManager[Witness]:
    """A witness of the current run; outside a run there is nothing to see."""
    try:
        return current().witnesses.open(marks)
    except SkillOptError:
        return Witnesses().open(marks)


def _marks(items: Sequence[Item], skill: str) -> tuple[str, ...]:
    fields = (value for item in items for value in item.data.values() if isinstance(value, str))
    return tuple(text for text in dict.fromkeys((skill.strip(), *fields)) if text)


def _label(items: Sequence[Item], skill: str) -> str:
    more = "" if len(items) == 1 else f"-and-{len(items) - 1}-more"
    return f"{digest(skill)[:8]}-{safe_name(items[0].id)}{more}"
