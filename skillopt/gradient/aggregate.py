"""Aggregation: many patches become one, level by level, failures and successes side by side, then both together.

A merge that cannot be read is replaced by plain concatenation, and the record says why: nothing learned is lost.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from skillopt.gradient.desk import Desk
from skillopt.gradient.mode import PATCH, Mode
from skillopt.gradient.page import page
from skillopt.gradient.reattach import reattach
from skillopt.gradient.schemas import FreeMergedEdits, MergedEdits
from skillopt.journal.context import Context
from skillopt.journal.events import Merged
from skillopt.prompts import Prompt
from skillopt.skill.proposals import public_patch
from skillopt.together import together
from skillopt.types import Edit, Patch, Reflection, Source

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Merge:
    desk: Desk
    batch_size: int = 8
    mode: Mode = PATCH

    async def __call__(self, context: Context, reflections: Sequence[Reflection]) -> Patch:
        """One patch of all reflections. Reminders need no merging: the appendix keeps one of each by itself."""
        merged = await self._merged(context, reflections)
        return replace(merged, notes=tuple(dict.fromkeys(note for r in reflections for note in r.patch.notes)))

    async def _merged(self, context: Context, reflections: Sequence[Reflection]) -> Patch:
        await self.desk.begin(context.at, "aggregate")
        failure, success = await together(
            self._side(context, side, [r.patch for r in reflections if r.source == side and r.patch.edits])
            for side in ("failure", "success")
        )
        if failure.edits and success.edits:
            return await self._final(context, failure, success)
        return success if success.edits else failure

    async def _side(self, context: Context, side: Source, patches: Sequence[Patch]) -> Patch:
        """One patch of many; a single one passes untouched and costs nothing."""
        level = 1
        while len(patches) > 1:
            groups = _groups(patches, max(2, self.batch_size))
            patches = await together(self._group(context, side, level, k, group) for k, group in enumerate(groups))
            level += 1
        return patches[0] if patches else Patch(reasoning="no patches")

    async def _group(self, context: Context, side: Source, level: int, k: int, patches: Sequence[Patch]) -> Patch:
        if len(patches) == 1:
            return patches[0]
        prompt = self.desk.prompts.render(
            f"merge_{side}{self.mode.suffix}", **page(context), count=len(patches), level=level, patches=_json(patches)
        )
        inputs = tuple(edit for patch in patches for edit in patch.edits)
        blank = Merged(at=context.at, side=side, level=level, patch=Patch(inputs, "fallback concatenation"))
        body = await self.desk.once(f"{context.at}/merge/{side}/{level}/{k}", partial(self._merge, prompt, blank))
        return body.patch

    async def _final(self, context: Context, failure: Patch, success: Patch) -> Patch:
        prompt = self.desk.prompts.render(
            f"merge_final{self.mode.suffix}",
            **page(context),
            failure_count=len(failure.edits),
            failure_patch=_json([failure]),
            success_count=len(success.edits),
            success_patch=_json([success]),
        )
        both = Patch((*failure.edits, *success.edits), "fallback: failure first, then success")
        blank = Merged(at=context.at, side="final", level=0, patch=both)
        body = await self.desk.once(f"{context.at}/merge/final", partial(self._merge, prompt, blank))
        return body.patch

    async def _merge(self, prompt: Prompt, blank: Merged) -> Merged:
        """Ask for the merge. `blank` holds the inputs and is what remains if the answer is of no use."""
        schema = MergedEdits if self.mode.shaped else FreeMergedEdits
        answer = await self.desk.ask(prompt, schema, stage="merge", max_tokens=self.mode.max_tokens)
        inputs = blank.patch.edits
        if answer.value is None:
            reason = answer.lost or "the merge editor gave no usable answer"
            log.warning("%s: %s merge is replaced by concatenation: %s", blank.at, blank.side, reason)
            patch, fallback = replace(blank.patch, edits=_levelled(inputs, blank.level)), reason
        else:
            edits = tuple(reattach(row, inputs, blank.side) for row in answer.value.edits if not row.blank)
            patch, fallback = Patch(_stamped(edits, blank.level), answer.value.reasoning), None
        return blank.model_copy(update={"patch": patch, "fallback": fallback, "usage": answer.usage})


def _groups(patches: Sequence[Patch], size: int) -> list[Sequence[Patch]]:
    return [patches[start : start + size] for start in range(0, len(patches), size)]


def _stamped(edits: tuple[Edit, ...], level: int) -> tuple[Edit, ...]:
    """Group merges mark their edits with the level; the final merge leaves the marks as they are."""
    return tuple(replace(edit, merge_level=level) for edit in edits) if level else edits


def _levelled(edits: tuple[Edit, ...], level: int) -> tuple[Edit, ...]:
    if not level:
        return edits
    return tuple(edit if edit.merge_level is not None else replace(edit, merge_level=level) for edit in edits)


def _json(patches: Sequence[Patch]) -> str:
    return json.dumps([public_patch(replace(patch, notes=())) for patch in patches], ensure_ascii=False, indent=1)
