"""The learning rate: how many edits a step may apply. A schedule is a pure function of the step, so it needs no state.

`build_scheduler` wraps one in the counting object that the public guide promises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Schedule = Callable[[int], int]
"""From the step, counted from 1 over the whole run, to the largest number of edits."""

UNBOUNDED = 999
MODES = ("constant", "linear", "cosine", "autonomous")


def constant(lr: int) -> Schedule:
    return lambda step: lr


def linear(lr: int, min_lr: int, total: int) -> Schedule:
    """A straight line from `lr` (step 0) to `min_lr` (the last step)."""
    return _decaying(lr, min_lr, total, lambda t: 1 - t)


def cosine(lr: int, min_lr: int, total: int) -> Schedule:
    """Half a cosine wave from `lr` to `min_lr`: slow at both ends."""
    return _decaying(lr, min_lr, total, lambda t: 0.5 * (1 + math.cos(math.pi * t)))


def autonomous() -> Schedule:
    """No limit from the schedule: the optimizer model decides for itself."""
    return lambda step: UNBOUNDED


def named_schedule(mode: str, lr: int, min_lr: int, total: int) -> Schedule:
    match mode:
        case "constant":
            return constant(lr)
        case "linear":
            return linear(lr, min_lr, total)
        case "cosine":
            return cosine(lr, min_lr, total)
        case "autonomous":
            return autonomous()
        case _:
            raise ValueError(f"Unknown learning rate schedule {mode!r}. Choose one of: {', '.join(MODES)}.")


def _decaying(lr: int, min_lr: int, total: int, share: Callable[[float], float]) -> Schedule:
    """`share` is what is left of the way from `lr` down to `min_lr` at the time t in [0, 1]."""
    if total <= 1:
        return constant(lr)
    return lambda step: max(min_lr, round(min_lr + (lr - min_lr) * share(min(step, total) / total)))


@dataclass(slots=True)
class Scheduler:
    """A schedule with a counter, as the public guide describes it. The training loop itself uses plain schedules."""

    schedule: Schedule
    current_step: int = 0

    def step(self) -> int:
        self.current_step += 1
        return self.schedule(self.current_step)

    def get_lr(self, step: int) -> int:
        return self.schedule(step)

    def state_dict(self) -> dict[str, int]:
        return {"current_step": self.current_step}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.current_step = state.get("current_step", 0)


def build_scheduler(mode: str = "constant", max_lr: int = 8, min_lr: int = 2, total_steps: int = 8) -> Scheduler:
    return Scheduler(named_schedule(mode, max_lr, min_lr, total_steps))
