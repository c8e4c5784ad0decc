"""`Context`: where in the run a stage stands. Handed to every optimizer-side stage instead of a row of arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from skillopt.journal.state import State
from skillopt.skill.document import Skill
from skillopt.types import Rollout, StepDigest, Tally


@dataclass(frozen=True, slots=True)
class Context:
    """`at` is the place key of the step (`e02s03`); `step` counts from 1 over the whole run.

    `tried` are the scores of the step's own attempts, once they are known.
    """

    at: str
    step: int
    epoch: int
    total_steps: int
    state: State
    memory_scope: str = "epoch"
    tried: Tally | None = None

    def after(self, rollouts: Iterable[Rollout]) -> Context:
        return replace(self, tried=Tally.of(rollouts))

    @property
    def skill(self) -> Skill:
        return self.state.current

    @property
    def memory(self) -> tuple[StepDigest, ...]:
        """The steps the optimizer should remember: those of this epoch, or of the whole run when asked for."""
        if self.memory_scope == "run":
            return self.state.memory
        return tuple(entry for entry in self.state.memory if entry.epoch == self.epoch)
