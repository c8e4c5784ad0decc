"""How close a run is to the time its slowest chain of calls needs: four epochs at one second of latency.

The critical path is counted from the journal: calls that had to wait for each other. Wanted: at most 1.1 times as long.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from loopback import loaded, server

from skillopt import app
from skillopt.journal.events import Event, Merged, Reflected, RolloutDone, Selected, SlowUpdated
from skillopt.journal.log import Journal

LATENCY = 1.0


def chain(events: list[Event]) -> int:
    """The longest chain of calls: rollouts, analysts, merge levels, ranking and gate of each step; the epochs' ends."""
    links: set[tuple[object, ...]] = set()
    for event in events:
        match event.body:
            case RolloutDone(at=at, stage=stage):
                links.add((at, stage))
            case Reflected(at=at):
                links.add((at, "reflect"))
            case Merged(at=at, side=side, level=level):
                links.add((at, "merge", "final" if side == "final" else level))
            case Selected(at=at, usage=usage) if usage.calls:
                links.add((at, "rank"))
            case SlowUpdated(epoch=epoch, usage=usage) if usage.calls:
                links.add((epoch, "slow update beside meta skill"))
            case _:
                pass
    return len(links)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        split, out = Path(home) / "split", Path(home) / "out"
        with server(split, (80, 40, 80), latency=LATENCY) as url:
            config = loaded(url, split, out, env__workers=256, gradient__analyst_workers=64)
            began = time.perf_counter()
            asyncio.run(app.run_training(config, environ={}))
            seconds = time.perf_counter() - began
        path = chain(list(Journal.read(out))) * LATENCY
        print(
            f"4 epochs: {seconds:.1f} s; critical path {path:.1f} s; ratio {seconds / path:.3f} (wanted: at most 1.100)"
        )


if __name__ == "__main__":
    main()
