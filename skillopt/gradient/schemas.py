"""What analysts and merge editors answer. These are doors: loose rows come in, core values go out."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from skillopt.gradient.loose import Integer, Loose, Notes, Text, Texts, as_rows
from skillopt.model.shape import asked
from skillopt.skill.proposals import PAYLOADS, from_row
from skillopt.types import JSON, Edit

_OPS = ("append", "insert_after", "replace", "delete")


class EditRow(Loose):
    """One proposal: an edit, a suggestion or a document. An op nobody knows stays as it was written: the edit's report
    will name it."""

    model_config = asked("op", "target", "content", "why", "support")

    op: Text = Field(default="append", json_schema_extra={"enum": list(_OPS)})
    target: Text = ""
    content: Text = ""
    why: Text = ""
    support: Texts = Field(default=(), validation_alias=AliasChoices("support", "items", "task_ids"))
    support_count: Integer = None
    source_type: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _in_own_words(cls, value: JSON) -> JSON:
        return from_row(cast("dict[str, JSON]", value)) if isinstance(value, dict) else value

    def edit(self) -> Edit:
        op = self.op.strip().lower()
        return Edit(op=op if op in _OPS else self.op, content=self.content, target=self.target, why=self.why)

    @property
    def blank(self) -> bool:
        return not (self.content.strip() or self.target.strip())


class PatchRow(Loose):
    reasoning: Text = ""
    edits: Annotated[tuple[EditRow, ...], BeforeValidator(as_rows)] = Field(
        default=(), validation_alias=AliasChoices(*PAYLOADS)
    )


class FailureRow(Loose):
    """One cause of failure; `items` are the trajectories the analyst names for it."""

    model_config = asked("failure_type", "description", "items")

    failure_type: Text = ""
    count: Integer = None
    description: Text = ""
    items: Texts = Field(default=(), validation_alias=AliasChoices("items", "task_ids", "ids", "support"))


class Analysis(Loose):
    """The common part of both analyses. An answer that is itself a patch is taken as one."""

    batch_size: Integer = None
    patch: PatchRow
    appendix_notes: Notes = ()

    @model_validator(mode="before")
    @classmethod
    def _wrapped(cls, value: JSON) -> JSON:
        if not isinstance(value, dict):
            return value
        row = cast("dict[str, JSON]", value)
        if row.get("patch") is None and any(name in row for name in (*PAYLOADS, "appendix_notes")):
            return row | {"patch": row}
        return row


class FailureAnalysis(Analysis):
    model_config = asked("failure_summary", "patch", "appendix_notes?")

    failure_summary: Annotated[tuple[FailureRow, ...], BeforeValidator(as_rows)] = ()


class SuccessAnalysis(Analysis):
    model_config = asked("success_patterns", "patch", "appendix_notes?")

    success_patterns: Texts = ()


class MergedEdits(Loose):
    """A merge must give a list of objects; an empty list is an answer, a missing one is not."""

    reasoning: Text = ""
    edits: tuple[EditRow, ...] = Field(validation_alias=AliasChoices(*PAYLOADS))


class FreeFailureAnalysis(FailureAnalysis):
    """In modes that propose something else than edits an answer is read, but its shape is not held to that of edits."""

    model_config = asked()


class FreeSuccessAnalysis(SuccessAnalysis):
    model_config = asked()


class FreeMergedEdits(MergedEdits):
    model_config = asked()
