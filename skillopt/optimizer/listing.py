"""Proposals as a numbered list, for an editor who chooses among them."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.types import Edit


def numbered(edits: Sequence[Edit]) -> str:
    return "\n\n".join(f"[{index}] {_described(edit)}" for index, edit in enumerate(edits))


def _described(edit: Edit) -> str:
    support = "unknown" if edit.support_count is None else str(edit.support_count)
    lines = (
        f"op: {edit.op}; from: {edit.source_type or 'unknown'}; support: {support}",
        f"target: {edit.target}" if edit.target else "",
        f"content: {edit.content}" if edit.content else "",
        f"why: {edit.why}" if edit.why else "",
    )
    return "\n".join(line for line in lines if line)
