"""What only some ways of updating the document leave in the records: the chosen rate, a rewrite, reminders."""

from __future__ import annotations

from skillopt.journal.places import StepView
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill, appendix_notes
from skillopt.skill.proposals import DOCUMENT, changes, public_patch, public_row
from skillopt.types import JSON, Decision, Edit

Record = dict[str, JSON]


def rate_record(step: StepView) -> Record:
    """`lr_decision.json`: the learning rate the optimizer chose."""
    if step.rate is None:
        return {}
    record: Record = step.rate.model_dump(exclude={"type", "at", "usage", "error"})
    return record | ({"error": step.rate.error} if step.rate.error is not None else {})


def rewrite_record(step: StepView) -> Record:
    """`rewrite_result.json`: the document written from suggestions."""
    body = step.rewrite
    if body is None:
        return {}
    record: Record = {"reasoning": body.reasoning, "change_summary": list(body.change_summary)}
    return record | {"new_skill": body.document} | ({"lost": body.lost} if body.lost is not None else {})


def full_rewrite_record(step: StepView) -> Record:
    """`full_rewrite_result.json`: the chosen document and the merged ones it was chosen from."""
    chosen = _document(step)
    if chosen is None or step.selected is None:
        return {}
    return {"selected_candidate": public_row(chosen), "merged_patch": public_patch(step.selected.pool)}


def notes_record(step: StepView) -> Record:
    """`appendix_notes.json`: the reminders of the step, and the appendix as the gate left it."""
    notes = list(dict.fromkeys(note for r in step.reflections for note in r.patch.notes))
    if not notes or step.after is None:
        return {}
    return {"step_notes": notes, "appendix_after": list(appendix_notes(step.after.current))}


def _document(step: StepView) -> Edit | None:
    edits = step.selected.patch.edits if step.selected else ()
    return next((edit for edit in edits if edit.op == DOCUMENT and edit.content.strip()), None)


def change_summary(step: StepView) -> list[str] | None:
    if step.rewrite is not None:
        return list(step.rewrite.change_summary)
    chosen = _document(step)
    return changes(chosen) if chosen else None


def reminder_record(view: RunView, step: StepView, decision: Decision) -> Record:
    """What the step did to the appendix; a rejected candidate added nothing."""
    written = notes_record(step)
    if not written or step.after is None:
        return {}
    total = len(written["appendix_after"])
    before = len(appendix_notes(view.skills.get(step.step - 1, Skill())))
    merged = len(step.consolidated.before) if step.consolidated else total
    kept = step.after.current.text == decision.candidate
    record: Record = {
        "n_execution_lapse_notes": sum(len(r.patch.notes) for r in step.reflections),
        "n_appendix_notes_added": merged - before if kept else 0,
        "n_appendix_notes_total": total,
    }
    shortened = kept and step.consolidated is not None and step.consolidated.lost is None
    return record | ({"n_appendix_notes_consolidated": total} if shortened else {})
