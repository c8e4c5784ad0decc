"""A run in a few numbers: what its line in the list shows, small enough to be kept for every run there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.progress.words import setting
from skillopt_webui.reading.follower import Follower

Word = Literal["running", "starting", "finished", "stopping", "stopped", "interrupted", "failed", "unreadable"]

_QUIET = 20.0
_LOST = 120.0


@dataclass(frozen=True, slots=True)
class Summary:
    kind: str
    benchmark: str
    target: str
    optimizer: str
    status: str
    reason: str
    step: int
    steps: int
    start: float | None
    best: float | None
    test_before: float | None
    test_after: float | None
    lift: tuple[float, float, float] | None
    cost_usd: float
    tokens: int
    unpriced: int
    cap_usd: float | None
    curve: tuple[float, ...]
    started: float
    last: float
    seconds: float
    missing: int
    error: str


def summarise(follower: Follower) -> Summary:
    view, ledger = follower.view, follower.ledger
    done, spent, lift = view.finished, ledger.total(), follower.lift
    state, baseline = view.state, view.baseline
    cap = setting(view, "budget", "max_cost_usd")
    return Summary(
        kind=view.kind,
        benchmark=str(setting(view, "env", "name") or ""),
        target=str(setting(view, "model", "target") or ""),
        optimizer=str(setting(view, "model", "optimizer") or ""),
        status=view.status.name,
        reason=view.status.reason,
        step=view.last_step,
        steps=view.plan.get("total_steps", 0),
        start=baseline.objective if baseline else None,
        best=state.best_score if state else None,
        test_before=done.baseline_test.hard if done and done.baseline_test else None,
        test_after=done.best_test.hard if done and done.best_test else None,
        lift=(lift.change.value, lift.change.low, lift.change.high) if lift else None,
        cost_usd=spent.cost_usd,
        tokens=spent.tokens,
        unpriced=spent.unpriced,
        cap_usd=float(cap) if isinstance(cap, (int, float)) else None,
        curve=tuple(v.best for v in ledger.verdicts if v.best is not None)[-60:],
        started=view.sessions[0].started if view.sessions else 0.0,
        last=ledger.last_ts,
        seconds=view.wall_time,
        missing=len(view.missing),
        error=follower.error,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands now: what its journal says, and whether anybody works on it."""

    word: Word
    reason: str = ""
    pid: int | None = None

    @property
    def live(self) -> bool:
        return self.word in ("running", "starting")


def standing(
    status: str, reason: str, error: str, *, pid: int | None, left: bool, quiet: float, fresh: bool = False
) -> Standing:
    """`quiet` is how long ago the journal last moved; `left` that a process vanished without giving the run back.

    `fresh` says that a process was started after the last event.
    """
    if error:
        return Standing("unreadable", error, pid)
    if status == "finished":
        return Standing("finished")
    if status == "empty":
        return Standing("starting", pid=pid) if pid else Standing("failed", "the command ended before the run began")
    if status == "stopped":
        if pid is None:
            return Standing("stopped", reason)
        return Standing("starting", pid=pid) if fresh else Standing("stopping", reason, pid)
    if pid is None and (quiet > _LOST or (left and quiet > _QUIET)):
        return Standing("interrupted", "its process is gone; resuming continues from the last recorded result")
    return Standing("running", pid=pid)
