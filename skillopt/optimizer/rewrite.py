"""Updates that replace the whole body. Front matter and protected regions are no part of it: no rewrite loses them."""

from __future__ import annotations

import json
import logging
from functools import partial

from skillopt.gradient.desk import Desk
from skillopt.gradient.mode import REWRITE_TOKENS
from skillopt.gradient.page import document
from skillopt.journal.context import Context
from skillopt.journal.events import Rewritten
from skillopt.optimizer.candidate import Candidate
from skillopt.optimizer.memory import render_memory
from skillopt.optimizer.schemas import Rewrite
from skillopt.skill.document import Skill
from skillopt.skill.proposals import DOCUMENT, public_row
from skillopt.types import Patch

log = logging.getLogger(__name__)


async def rewrite_document(
    desk: Desk, context: Context, patch: Patch, *, max_tokens: int = REWRITE_TOKENS
) -> Candidate:
    """One call writes the next version from the chosen suggestions; none are chosen, nobody is asked."""
    await desk.begin(context.at, "update")
    if not patch.edits:
        return _candidate(context, patch, context.skill)
    body = await desk.once(f"{context.at}/rewrite", partial(_rewrite, desk, context, patch, max_tokens))
    if body.lost is not None:
        return _candidate(context, patch, context.skill, body.lost)
    return _candidate(context, patch, context.skill.with_body(body.document))


async def take_document(desk: Desk, context: Context, patch: Patch) -> Candidate:
    """The first proposed document that has a body of its own."""
    await desk.begin(context.at, "update")
    skills = (context.skill.with_body(edit.content) for edit in patch.edits if edit.op == DOCUMENT)
    found = next((skill for skill in skills if skill.body.strip()), None)
    if found is None:
        return _candidate(context, patch, context.skill, "no proposal holds a document" if patch.edits else None)
    return _candidate(context, patch, found)


async def _rewrite(desk: Desk, context: Context, patch: Patch, max_tokens: int) -> Rewritten:
    prompt = desk.prompts.render(
        "rewrite_skill",
        **document(context.skill),
        previous_steps=render_memory(context.memory),
        count=len(patch.edits),
        suggestions=json.dumps([public_row(edit) for edit in patch.edits], ensure_ascii=False, indent=1),
    )
    answer = await desk.ask(prompt, Rewrite, stage="rewrite", max_tokens=max_tokens)
    if answer.value is None:
        reason = answer.lost or "no usable document"
        log.warning("%s: the document is not rewritten: %s", context.at, reason)
        return Rewritten(at=context.at, document="", lost=reason, usage=answer.usage)
    value = answer.value
    return Rewritten(
        at=context.at,
        document=value.new_skill,
        reasoning=value.reasoning,
        change_summary=value.change_summary,
        usage=answer.usage,
    )


def _candidate(context: Context, patch: Patch, skill: Skill, lost: str | None = None) -> Candidate:
    return Candidate(skill, context.skill, patch, (), f"step_{context.step:04d}", lost=lost)
