"""The slow update: at the end of an epoch, guidance for the protected region, written from a longer view.

This module writes the guidance only; rolling out both documents and gating the result is the engine's part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.gradient.desk import MAX_TOKENS, Desk
from skillopt.journal.events import Pair, SlowUpdated
from skillopt.optimizer.comparison import comparison_text
from skillopt.optimizer.schemas import Guidance
from skillopt.prompts import Prompt
from skillopt.skill.document import Skill
from skillopt.skill.regions import cleaned
from skillopt.types import Rollout, Tally

COMPARISON_TOKENS = 80_000


async def write_guidance(
    desk: Desk,
    *,
    epoch: int,
    prev_skill: Skill,
    curr_skill: Skill,
    pairs: Sequence[Pair],
    prev: Mapping[str, Rollout],
    curr: Mapping[str, Rollout],
    all_pairs: Sequence[Pair] = (),
    tokens: int = COMPARISON_TOKENS,
) -> SlowUpdated:
    """The recorded guidance of the epoch. Nothing to compare costs no call and leaves no content.

    `all_pairs` is for the record only: what was compared where the policy keeps less.
    """

    async def written() -> SlowUpdated:
        blank = _blank(epoch, pairs, prev, curr).model_copy(update={"all_pairs": tuple(all_pairs)})
        if not pairs:
            return blank.model_copy(update={"reasoning": "There was no task to compare."})
        prompt = desk.prompts.render(
            "slow_update",
            previous_skill=prev_skill.text,
            current_skill=curr_skill.text,
            previous_guidance=curr_skill.region("slow_update"),
            count=len(pairs),
            comparison=comparison_text(pairs, prev, curr, tokens),
        )
        return await _ask(desk, prompt, blank)

    return await desk.once(f"slow/e{epoch:02d}/guidance", written)


async def _ask(desk: Desk, prompt: Prompt, blank: SlowUpdated) -> SlowUpdated:
    answer = await desk.ask(prompt, Guidance, stage="slow_update", max_tokens=MAX_TOKENS)
    if answer.value is None:
        return blank.model_copy(update={"lost": answer.lost or "no usable answer", "usage": answer.usage})
    content = cleaned(answer.value.slow_update_content)
    return blank.model_copy(update={"content": content, "reasoning": answer.value.reasoning, "usage": answer.usage})


def _blank(epoch: int, pairs: Sequence[Pair], prev: Mapping[str, Rollout], curr: Mapping[str, Rollout]) -> SlowUpdated:
    """The record without guidance. The means are over the tasks scored on both sides, whatever the policy kept."""
    both = [item for item in prev if prev[item].score and item in curr and curr[item].score]
    return SlowUpdated(
        epoch=epoch,
        content="",
        prev_hard=Tally.of(prev[item] for item in both).hard,
        curr_hard=Tally.of(curr[item] for item in both).hard,
        pairs=tuple(pairs),
    )
