"""`Candidate`: a document the gate has yet to judge, with everything that led to it."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.skill.document import Skill
from skillopt.types import EditReport, Patch


@dataclass(frozen=True, slots=True)
class Candidate:
    """`origin` names the step it came from (`step_0003`), as the history does."""

    skill: Skill
    parent: Skill
    patch: Patch
    reports: tuple[EditReport, ...]
    origin: str

    @classmethod
    def whole(cls, skill: Skill, parent: Skill, origin: str) -> Candidate:
        """A document that no patch led to: the seed, or one with a new region."""
        return cls(skill, parent, Patch(), (), origin)
