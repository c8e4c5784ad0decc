"""What a way of updating the document asks of its analysts and editors. Reading the answers is the same for all."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.gradient.desk import MAX_TOKENS

REWRITE_TOKENS = 64_000
"""Whole documents need more room than edits."""


@dataclass(frozen=True, slots=True)
class Mode:
    """`suffix` names its templates (`analyst_error_rewrite.md`), `unit` what is proposed in them.

    With `single`, an analyst answers with one proposal whatever the learning rate.
    """

    suffix: str = ""
    unit: str = "edits"
    single: bool = False
    max_tokens: int = MAX_TOKENS

    @property
    def shaped(self) -> bool:
        """Whether answers have the shape that the analysts' schemas describe: that of edits."""
        return not self.suffix


PATCH = Mode()
REWRITE = Mode("_rewrite", "suggestions")
FULL_REWRITE = Mode("_full_rewrite", "documents", single=True, max_tokens=REWRITE_TOKENS)
