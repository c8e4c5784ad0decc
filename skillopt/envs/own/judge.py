"""The scorer `judge`: a rubric, graded by the optimizer's model.

The answer under judgement is data: it is fenced, and the judge is told not to follow it. A grade that cannot be read is
missing data, like an answer that never came, never a zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from skillopt.envs.own.grading import Case
from skillopt.errors import ConfigError, ModelError
from skillopt.model.structured import ask
from skillopt.model.types import Provider
from skillopt.prompts import Prompts
from skillopt.types import Score, Usage

HERE = Path(__file__).parent / "prompts"
_MOST = 10.0
_TOKENS = 4096
_LONGEST_NAME = 200


class Grade(BaseModel):
    """What the judge answers."""

    reason: str = Field(default="", description="what is good or wrong, in a sentence or two")
    points: float = Field(ge=0, le=_MOST, description="0 to 10")


@dataclass(frozen=True, slots=True)
class Judged:
    score: Score
    usage: Usage


@dataclass(frozen=True, slots=True)
class Judge:
    rubric: str
    pass_mark: float

    async def grade(self, model: Provider, asked: str, output: str, case: Case) -> Judged:
        reference = "\n".join(case.golds)
        prompt = Prompts(HERE).render("judge", rubric=self.rubric, asked=asked, output=output, reference=reference)
        answer = await ask(model, prompt.system, prompt.user, Grade, stage="judge", max_tokens=_TOKENS)
        if answer.value is None:
            raise ModelError("malformed", f"the judge gave no grade: {answer.lost}")
        points, reason = answer.value.points, answer.value.reason.strip()
        if points >= self.pass_mark:
            return Judged(Score(1.0, points / _MOST, {"judge": reason}), answer.usage)
        said = f"the judge gave {points:g} of {_MOST:g}: {reason or 'no reason given'}"
        return Judged(Score(0.0, points / _MOST, {"fail_reason": said}), answer.usage)


def rubric_text(rubric: str) -> str:
    """The rubric itself, or the content of the file that it names."""
    if not rubric.strip():
        raise ConfigError("env.rubric: the scorer judge needs a rubric: a sentence or two, or the name of a file")
    if "\n" in rubric or len(rubric) > _LONGEST_NAME or not rubric.strip().endswith((".md", ".txt")):
        return rubric.strip()
    try:
        return Path(rubric.strip()).read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"env.rubric: the file {rubric} cannot be read: {error}") from error
