"""Did you mean: the nearest known name, or nothing when no name is near enough to help."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word most like `word`; case does not count."""
    by_lower = {k.lower(): k for k in sorted(known, reverse=True)}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean x?`, to end a message with, or nothing."""
    found = nearest(word, known)
    return f"; did you mean {found}?" if found else ""
