"""What the optimizer's editors and the epoch-end writers answer."""

from __future__ import annotations

from pydantic import Field, field_validator

from skillopt.gradient.loose import Integers, Loose, Notes, Text, Texts, as_integer
from skillopt.model.shape import asked
from skillopt.types import JSON


class Ranking(Loose):
    reasoning: Text = ""
    selected_indices: Integers


class ChosenRate(Loose):
    """How many proposals to apply. A number in words, a boolean or no number at all is no answer."""

    model_config = asked("reasoning", "learning_rate", "confidence?", "risk_notes?")

    learning_rate: JSON = Field(json_schema_extra={"type": "integer"})
    reasoning: Text = ""
    confidence: Text = ""
    risk_notes: Texts = ()

    @field_validator("learning_rate")
    @classmethod
    def _whole_number(cls, value: JSON) -> JSON:
        if as_integer(value) is None:
            raise ValueError("must be a whole number of at least 0")
        return value

    @property
    def number(self) -> int:
        return max(0, as_integer(self.learning_rate) or 0)


class Rewrite(Loose):
    """A blank document is no answer."""

    reasoning: Text = ""
    change_summary: Texts = ()
    new_skill: Text

    @field_validator("new_skill")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must be the complete document")
        return value


class ShorterNotes(Loose):
    appendix_notes: Notes


class Guidance(Loose):
    """An empty text is an answer ("nothing to say"); a missing one is not."""

    reasoning: Text = ""
    slow_update_content: Text


class Memory(Loose):
    reasoning: Text = ""
    meta_skill_content: Text
