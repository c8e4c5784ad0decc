"""The values that prompts about the document in training share: its body, its read-only regions, the memory."""

from __future__ import annotations

from skillopt.journal.context import Context
from skillopt.skill.document import Skill


def page(context: Context) -> dict[str, object]:
    return {**document(context.skill), "memory": context.state.meta_skill}


def document(skill: Skill) -> dict[str, object]:
    return {"skill": skill.body, "guidance": skill.region("slow_update"), "appendix": skill.region("appendix")}
