"""Reminders for the appendix region: part of the candidate like any edit, so the gate decides about them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from skillopt.gradient.desk import Desk
from skillopt.gradient.page import document
from skillopt.journal.context import Context
from skillopt.journal.events import NotesConsolidated
from skillopt.optimizer.candidate import Candidate
from skillopt.optimizer.schemas import ShorterNotes
from skillopt.skill.document import Skill, appendix_notes, with_notes
from skillopt.types import Patch

CONSOLIDATE_TOKENS = 4096


async def remind(desk: Desk, context: Context, patch: Patch, candidate: Candidate, *, threshold: int = 0) -> Candidate:
    """The candidate with the patch's notes in its appendix; above `threshold` notes (0 = never) a call shortens it."""
    if not patch.notes:
        return candidate
    skill = with_notes(candidate.skill, patch.notes)
    notes = appendix_notes(skill)
    if skill.text != candidate.skill.text and 0 < threshold < len(notes) and len(notes) > 1:
        key = f"{context.at}/consolidate"
        body = await desk.once(key, partial(_consolidate, desk, context.at, candidate.skill, notes))
        skill = with_notes(skill.without_region("appendix"), body.after)
    return replace(candidate, skill=skill)


async def _consolidate(desk: Desk, at: str, skill: Skill, notes: Sequence[str]) -> NotesConsolidated:
    """A shorter list of the same reminders, or the same list: what is not shorter is no improvement."""
    prompt = desk.prompts.render(
        "appendix_consolidate",
        **document(skill.without_region("appendix")),
        count=len(notes),
        notes="\n".join(f"- {note}" for note in notes),
    )
    answer = await desk.ask(prompt, ShorterNotes, stage="appendix_consolidate", max_tokens=CONSOLIDATE_TOKENS)
    unchanged = NotesConsolidated(at=at, before=tuple(notes), after=tuple(notes), usage=answer.usage)
    if answer.value is None:
        return unchanged.model_copy(update={"lost": answer.lost or "no usable answer"})
    shorter = appendix_notes(with_notes(Skill(), answer.value.appendix_notes))
    if not 0 < len(shorter) < len(notes):
        return unchanged.model_copy(update={"lost": f"{len(shorter)} notes are not fewer than {len(notes)}"})
    return unchanged.model_copy(update={"after": shorter})
