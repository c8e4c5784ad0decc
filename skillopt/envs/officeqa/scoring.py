"""The numeric scorer: quantities by value, lists member by member in order, everything else as normalised text.

The expected answer decides how the given one is read: only where a list is expected may commas and "and" divide it,
so "March 3, 1977" stays a date and "1,234" a number.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from skillopt.envs.officeqa.numbers import agree, difference, quantity, tidy
from skillopt.envs.officeqa.reference import f1

_BRACKETED = re.compile(r"\s*[\[{](?P<body>.*)[\]}]\s*\.?\s*", re.DOTALL)
_ROUND = re.compile(r"\s*\((?P<body>[^()]*[,;][^()]*)\)\s*\.?\s*", re.DOTALL)
_SPACED = re.compile(r"\s*(?:;|\n|,\s+and\s+|,\s+|\s+and\s+)\s*")
_EVERY = re.compile(r"\s*(?:;|\n|,|\s+and\s+)\s*")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", "".join(set(string.punctuation) - set(".-%")))
_NO_STOPS = re.compile(r"\.(?!\d)")


@dataclass(frozen=True, slots=True)
class Match:
    """`hard` is 0 or 1; `soft` is a share; `note` says what separates them, "" where that has no name."""

    hard: float
    soft: float
    note: str = ""


def compared(said: str, gold: str, tolerance: float = 0.0) -> Match:
    """How well an answer agrees with the expected one."""
    if not said.strip():
        return Match(0.0, 0.0, "empty")
    expected = _expected(gold)
    if len(expected) == 1:
        return _single(_unwrapped(said), expected[0], tolerance)
    return max((_members(reading, expected, tolerance) for reading in _readings(said)), key=lambda m: (m.hard, m.soft))


def words(text: str) -> list[str]:
    """The words of a text that count: no case, no articles, no punctuation but signs inside numbers."""
    plain = _NO_STOPS.sub(" ", tidy(text).translate(_NO_PUNCTUATION))
    return _ARTICLE.sub(" ", plain).split()


def _single(said: str, gold: str, tolerance: float) -> Match:
    wanted = quantity(gold)
    if wanted is None:
        return _text(said, gold)
    given = quantity(said)
    if given is None:
        return Match(0.0, 0.0, "not one number")
    right = agree(given, wanted, tolerance)
    return Match(1.0, 1.0) if right else Match(0.0, 0.0, difference(given, wanted))


def _text(said: str, gold: str) -> Match:
    given, wanted = words(said), words(gold)
    if not wanted:
        return Match(1.0, 1.0) if tidy(said) == tidy(gold) else Match(0.0, 0.0)
    if given == wanted:
        return Match(1.0, 1.0)
    # The same words in another order are not the same answer, and partial credit stays below a full one.
    return Match(0.0, min(f1(given, wanted), 0.99))


def _members(said: tuple[str, ...], gold: tuple[str, ...], tolerance: float) -> Match:
    right = sum(_single(a, b, tolerance).hard for a, b in zip(said, gold, strict=False))
    if len(said) != len(gold):
        return Match(0.0, right / max(len(said), len(gold)), f"{len(said)} members where {len(gold)} are expected")
    note = "" if right == len(gold) else f"{right:g} of {len(gold)} members are right"
    return Match(float(right == len(gold)), right / len(gold), note)


def _expected(gold: str) -> tuple[str, ...]:
    """Gold's members: what brackets hold, or a row of nothing but quantities; anything else is one answer."""
    bracketed = _BRACKETED.fullmatch(gold)
    body = bracketed["body"] if bracketed else gold
    if quantity(body) is not None:
        return (body,)
    spaced, every = _parts(_SPACED, body), _parts(_EVERY, body)
    parts = spaced if len(spaced) > 1 else every
    if bracketed or (len(parts) > 1 and all(quantity(part) for part in parts)):
        return parts or (gold,)
    return (gold,)


def _readings(said: str) -> tuple[tuple[str, ...], ...]:
    """The ways to divide an answer: by the commas that stand before a space, or by all of them."""
    found = _BRACKETED.fullmatch(said) or _ROUND.fullmatch(said)
    body = found["body"] if found else said
    return tuple(dict.fromkeys((_parts(_SPACED, body), _parts(_EVERY, body))))


def _unwrapped(said: str) -> str:
    """A list of one is its member."""
    found = _BRACKETED.fullmatch(said)
    return found["body"] if found and found["body"].strip() else said


def _parts(separator: re.Pattern[str], body: str) -> tuple[str, ...]:
    # Long runs of spaces would make the pattern slow.
    body = "\n".join(" ".join(line.split()) for line in body.splitlines())
    return tuple(part for part in (piece.strip() for piece in separator.split(body)) if part)
