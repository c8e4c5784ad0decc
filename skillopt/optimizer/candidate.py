"""`Candidate`: a document the gate has yet to judge, with everything that led to it."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.skill.document import Skill
from skillopt.types import Edit, EditReport, Patch


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
    rivals: tuple[Candidate, ...] = ()
    """Other patches from the same pool, to be tried against this one on the same items."""

    @classmethod
    def whole(cls, skill: Skill, parent: Skill, origin: str) -> Candidate:
        """A document that no patch led to: the seed, or one with a new region."""
        return cls(skill, parent, Patch(), (), origin)

    def parts(self, most: int) -> tuple[Candidate, ...]:
        """The patch in at most `most` parts, each as a candidate of its own; a single edit has no parts."""
        edits = tuple(self.patch.edits[report.index - 1] for report in self.reports if report.applied)
        if most < 1 or len(edits) < 2:
            return ()
        found = (self._part(edits[place::most]) for place in range(min(most, len(edits))))
        own = {self.skill.digest, self.parent.digest}
        return tuple(part for part in found if part.skill.digest not in own)

    def _part(self, edits: tuple[Edit, ...]) -> Candidate:
        patch = Patch(edits, self.patch.reasoning)
        applied = self.parent.apply(patch)
        return Candidate(applied.skill, self.parent, patch, applied.reports, self.origin, self.proposed)
