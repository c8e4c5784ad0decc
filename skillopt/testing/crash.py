"""Crash a run at any event. `Journal.open(run, on_commit=Crash(7, "before"))` dies as a killed process would.

"before" is the moment when the work was done but not recorded; "after" is the moment when it has just become durable.
A test that crashes at every event, starts again and compares the end shows that nothing depends on luck.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Moment = Literal["before", "after"]


class CrashAt(Exception):
    """Raised to everybody who writes to the journal from the crash on."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A commit hook: the journal dies before or after the event with this number (the first is 1)."""

    seq: int
    moment: Moment = "after"

    def __call__(self, seq: int, moment: Moment) -> None:
        if (seq, moment) == (self.seq, self.moment):
            raise CrashAt(f"crashed {moment} event {seq}")


def every_event(total: int) -> Iterator[Crash]:
    """Every moment at which a run of `total` events can be interrupted."""
    for seq in range(1, total + 1):
        yield Crash(seq, "before")
        yield Crash(seq, "after")
