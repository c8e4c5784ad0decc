"""The system text of a benchmark: a frame with one place, `{skill}`, for the skill.

It depends on the skill alone, so every item of a rollout shares its beginning and providers can cache it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

PLACE = "{skill}"


class Frame:
    """Filled once for each skill. An empty skill leaves no trace."""

    def __init__(self, text: str) -> None:
        self._filled = lru_cache(maxsize=8)(partial(_filled, text.strip()))

    @classmethod
    def beside(cls, module: str, name: str = "target.md", **fixed: str) -> Frame:
        """The frame in the `prompts` folder beside a module, given as its `__file__`; `fixed` fills other places."""
        text = (Path(module).parent / "prompts" / name).read_text(encoding="utf-8")
        for place, value in fixed.items():
            text = text.replace(f"{{{place}}}", value)
        return cls(text)

    def __call__(self, skill: str) -> str:
        return self._filled(skill)


def _filled(text: str, skill: str) -> str:
    section = f"## Skill\n\n{skill.strip()}\n\n" if skill.strip() else ""
    return text.replace(PLACE, section, 1).strip()
