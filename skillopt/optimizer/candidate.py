"""`Candidate`: a document the gate has yet to judge, with everything that led to it."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.skill.document import Skill
from skillopt.types import EditReport, Patch


@dataclass(frozen=True, slots=True)
class Candidate:
    """`origin` names the step it came from (`step_0003`), as the history does.

    `proposed` counts the proposals before the selection; `lost` says why no document came of them, in the modes that
    write one.
    """

    skill: Skill
    parent: Skill
    patch: Patch
    reports: tuple[EditReport, ...]
    origin: str
    proposed: int = 0
    lost: str | None = None

    @classmethod
    def whole(cls, skill: Skill, parent: Skill, origin: str) -> Candidate:
        """A document that no patch led to: the seed, or one with a new region."""
        return cls(skill, parent, Patch(), (), origin)
