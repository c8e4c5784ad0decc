"""The things the synthetic world asks about: six thousand names, each with a number, none given twice."""

from __future__ import annotations

HEADS = (
    "Thorn",
    "Alder",
    "Crow",
    "Dun",
    "Elm",
    "Fen",
    "Glen",
    "Hart",
    "Iron",
    "Kings",
    "Lark",
    "Marl",
    "North",
    "Oak",
    "Pen",
    "Quill",
    "Raven",
    "Salt",
    "Tor",
    "Under",
    "Vale",
    "West",
    "Yarrow",
    "Ash",
)
TAILS = (
    "mere",
    "bury",
    "ford",
    "holt",
    "wick",
    "stead",
    "combe",
    "ley",
    "thorpe",
    "gate",
    "moor",
    "dale",
    "croft",
    "haven",
    "shaw",
    "worth",
    "field",
    "cliffe",
    "brook",
    "minster",
)
KINDS = (
    "Abbey",
    "Castle",
    "College",
    "Priory",
    "Hall",
    "Manor",
    "Hospital",
    "Library",
    "Lodge",
    "Tower",
    "Cloister",
    "Guild",
    "Palace",
)
SPACE = len(HEADS) * len(TAILS) * len(KINDS)


def entity(index: int, seed: int) -> str:
    """The name with this number; a step without a common factor visits every name once."""
    number = (index * 1009 + seed * 131) % SPACE
    number, kind = divmod(number, len(KINDS))
    head, tail = divmod(number, len(TAILS))
    return f"{HEADS[head]}{TAILS[tail]} {KINDS[kind]}"
