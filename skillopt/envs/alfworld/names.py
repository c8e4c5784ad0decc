"""What things are called in a game. The engine knows them by identifiers that hold their coordinates; players do not.

Published walkthroughs, skills and logs speak of `mug 2`, so numbers must be given out as ALFWorld gives them: within a
kind, the last identifier in alphabetical order is number 1.
"""

from __future__ import annotations

from collections.abc import Iterable

_PART = "_bar_"
_BASIN = "basin"


def spoken_names(identifiers: Iterable[str]) -> dict[str, str]:
    """A name for each identifier; those without coordinates (types, places, the player) are their own."""
    names: dict[str, str] = {}
    kinds: dict[str, list[str]] = {}
    for identifier in sorted(identifiers):
        kind, found, _ = identifier.partition(_PART)
        if found:
            # A sink's basin is written as part of the sink, but it is the basin that one goes to.
            kinds.setdefault(f"{kind}{_BASIN if _BASIN in identifier else ''}", []).append(identifier)
        else:
            names[identifier] = identifier
    for kind, members in kinds.items():
        names |= {member: f"{kind} {len(members) - place}" for place, member in enumerate(members)}
    return names
