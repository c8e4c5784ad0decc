"""The meta skill: a memory for the optimizer's own models about which edits help here. It never enters the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.gradient.desk import MAX_TOKENS, Desk
from skillopt.journal.events import MetaSkillWritten, Pair
from skillopt.optimizer.comparison import comparison_text
from skillopt.optimizer.schemas import Memory
from skillopt.optimizer.slow_update import COMPARISON_TOKENS
from skillopt.skill.document import Skill
from skillopt.types import Rollout


async def write_memory(
    desk: Desk,
    *,
    epoch: int,
    prev_skill: Skill,
    curr_skill: Skill,
    pairs: Sequence[Pair],
    prev: Mapping[str, Rollout],
    curr: Mapping[str, Rollout],
    previous: str,
    tokens: int = COMPARISON_TOKENS,
) -> MetaSkillWritten:
    """The recorded memory of the epoch; a lost or empty answer leaves `previous` in force."""

    async def written() -> MetaSkillWritten:
        if not pairs:
            return MetaSkillWritten(epoch=epoch, content="", reasoning="There was no task to compare.")
        prompt = desk.prompts.render(
            "meta_skill",
            previous_skill=prev_skill.text,
            current_skill=curr_skill.text,
            previous_memory=previous,
            count=len(pairs),
            comparison=comparison_text(pairs, prev, curr, tokens),
        )
        answer = await desk.ask(prompt, Memory, stage="meta_skill", max_tokens=MAX_TOKENS)
        if answer.value is None:
            return MetaSkillWritten(epoch=epoch, content="", lost=answer.lost or "no usable answer", usage=answer.usage)
        value = answer.value
        return MetaSkillWritten(
            epoch=epoch, content=value.meta_skill_content.strip(), reasoning=value.reasoning, usage=answer.usage
        )

    return await desk.once(f"meta/e{epoch:02d}", written)
