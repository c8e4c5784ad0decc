"""`State`: everything the loop carries from one step to the next, as a pure fold of the journal's decisions.

Nothing else moves it. Replaying the same decisions gives the same state, which is why resuming needs no code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.journal.events import MetaSkillWritten
from skillopt.skill.document import Skill
from skillopt.types import Decision, StepDigest


@dataclass(frozen=True, slots=True)
class State:
    """`bar` is the score to beat and `bar_skill` the digest of the document that set it.

    After a forced slow update `current` is unmeasured (`score` is None) while the bar stays where it was.
    """

    current: Skill
    best: Skill
    score: float | None = None
    bar: float | None = None
    bar_skill: str = ""
    best_score: float | None = None
    best_step: int = 0
    current_origin: str = "initial_skill"
    best_origin: str = "initial_skill"
    step: int = 0
    epoch: int = 0
    meta_skill: str = ""
    memory: tuple[StepDigest, ...] = ()
    stale: int = 0
    whole: bool = True
    """Whether the bar was measured on all items; a gate that knows enough stops earlier."""

    @classmethod
    def start(cls, seed: Skill) -> State:
        return cls(current=seed, best=seed)

    @property
    def bar_document(self) -> Skill | None:
        """The document that set the bar, if it is still the best or the current one."""
        return next((skill for skill in (self.best, self.current) if skill.digest == self.bar_skill), None)

    def apply(self, record: Decision | MetaSkillWritten) -> State:
        """The state after a recorded decision. `stale` counts measured steps without a new best (patience)."""
        if isinstance(record, MetaSkillWritten):
            return self if record.lost or not record.content else replace(self, meta_skill=record.content)
        return self._accepted(record)._remembered(record)

    def _accepted(self, decision: Decision) -> State:
        candidate = Skill.parse(decision.candidate)
        measured = {
            "score": decision.objective, "bar": decision.objective, "bar_skill": candidate.digest,
            "whole": not decision.partial,
        }  # fmt: skip
        match decision.action:
            case "baseline":
                return replace(self, **measured, best_score=decision.objective)
            case "accept_new_best" | "promote":
                new = replace(self, current=candidate, current_origin=decision.origin, **measured)
                return replace(
                    new, best=candidate, best_score=decision.objective, best_origin=decision.origin,
                    best_step=decision.memory.step if decision.memory else self.step,
                )  # fmt: skip
            case "accept":
                return replace(self, current=candidate, current_origin=decision.origin, **measured)
            case "force_accept" if decision.objective is None:
                return replace(self, current=candidate, current_origin=decision.origin, score=None)
            case "force_accept":
                return self._forced(decision, candidate)
            case _:
                return self

    def _forced(self, decision: Decision, candidate: Skill) -> State:
        """The gate is off: the candidate becomes current whatever its score, best only if it is strictly better."""
        new = replace(
            self, current=candidate, current_origin=decision.origin, score=decision.objective,
            bar=decision.objective, bar_skill=candidate.digest, whole=not decision.partial,
        )  # fmt: skip
        if self.best_score is not None and decision.objective is not None and decision.objective <= self.best_score:
            return new
        step = decision.memory.step if decision.memory else self.step
        return replace(new, best=candidate, best_score=decision.objective, best_origin=decision.origin, best_step=step)

    def _remembered(self, decision: Decision) -> State:
        if decision.memory is None:
            return self
        improved = self.best_step == decision.memory.step
        return replace(
            self,
            step=decision.memory.step,
            epoch=decision.memory.epoch,
            memory=(*self.memory, decision.memory),
            stale=0 if improved else self.stale + 1,
        )
