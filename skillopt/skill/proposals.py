"""Proposals that are not edits: suggestions for a rewrite, and whole documents.

They travel as `Edit` with an op of their own, so that merging, selecting, memory and journal need no second kind of
value. People and models see them under their public names.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.types import JSON, Edit, Patch

SUGGEST = "suggest"
"""`content` is the instruction, `target` the title, `why` the motivation."""
DOCUMENT = "document"
"""`content` is the document, `target` the title, `why` the summary of changes, one a line."""

_PAYLOAD = {SUGGEST: "revise_suggestions", DOCUMENT: "skill_candidates"}
PAYLOADS = ("edits", *_PAYLOAD.values())
"""The names under which a patch holds its proposals, by way of updating."""


def from_row(row: Mapping[str, JSON]) -> dict[str, JSON]:
    """A loose row in any of the three forms as the fields of an `Edit`."""
    if row.get("new_skill") is not None:
        return _renamed(row, DOCUMENT, {"new_skill": "content", "title": "target", "change_summary": "why"})
    if row.get("instruction") is not None:
        return _renamed(row, SUGGEST, {"instruction": "content", "title": "target", "motivation": "why"})
    return dict(row)


def public_row(edit: Edit) -> dict[str, JSON]:
    """A proposal under its public names."""
    row = edit.to_dict()
    rest = {k: v for k, v in row.items() if k not in ("op", "content", "target", "why")}
    if edit.op == SUGGEST:
        return {"title": edit.target, "instruction": edit.content, "motivation": edit.why} | rest
    if edit.op == DOCUMENT:
        return {"title": edit.target, "change_summary": changes(edit), "new_skill": edit.content} | rest
    return row


def public_patch(patch: Patch) -> dict[str, JSON]:
    """A patch under its public names; it holds proposals of one kind."""
    row = patch.to_dict()
    kind = _PAYLOAD.get(patch.edits[0].op, "edits") if patch.edits else "edits"
    rows = [public_row(edit) for edit in patch.edits]
    return {"reasoning": row.pop("reasoning"), kind: rows} | {k: v for k, v in row.items() if k != "edits"}


def changes(edit: Edit) -> list[str]:
    """The summary of a document's changes."""
    return [line for line in edit.why.splitlines() if line.strip()]


def _renamed(row: Mapping[str, JSON], op: str, names: Mapping[str, str]) -> dict[str, JSON]:
    known = {names[key]: value for key, value in row.items() if key in names}
    return {k: v for k, v in row.items() if k not in names} | known | {"op": op}
