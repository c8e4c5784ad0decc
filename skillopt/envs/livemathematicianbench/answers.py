"""Which option a reply chose. Only clear forms count: a label alone, an option's text, or a label set off from words.

A sentence that begins with the article "A", or with a variable's name, is not a label; what names two options is
ambiguous. Both are wrong answers that say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.envs.livemathematicianbench.options import Option, squeezed
from skillopt.envs.tags import extracted, tagged

_DECORATION = re.compile(r"\\(?:boxed|fbox|text[a-z]*|math[a-z]*)\b|[\s*_`$\"'“”‘’(){}\[\].,:;!/&\\]")
_LEAD = re.compile(
    r"so|thus|hence|therefore|the|my|final|correct|right|best|answer|option|choice|label|letter|is", re.I
)
_JOIN = frozenset(("or", "and"))
_LABELLED = re.compile(
    r"(?:(?i:option|choice)\s+)?[(\[*]{0,4}(?P<label>[A-Z]{1,2})(?P<mark>(?:\*\*|[)\].:])*)\s+(?P<rest>\S.*)", re.DOTALL
)
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply said. `label` is "" where it chose no option; `problem` then says why, in words for an analyst."""

    said: str
    label: str = ""
    problem: str = ""


def read(reply: str, options: Sequence[Option]) -> Reading:
    """The option chosen inside the last answer tags or, without tags, in the last line that has words."""
    free = not tagged(reply)
    said = _last_line(reply) if free else extracted(reply)
    if not said.strip():
        return Reading("", "", "no answer" if free else "no answer: the tags are empty")
    found = _names(said, options) or _text_of(said, options) or _labelled(said, options, free=free)
    label, problem = found or ("", _unknown(said, options))
    form = " (no <answer> tags, the last line was taken)" if free and not label else ""
    return Reading(said, label, problem + form)


def _last_line(reply: str) -> str:
    return next((line.strip() for line in reversed(reply.splitlines()) if re.search(r"\w", line)), "")


def _names(said: str, options: Sequence[Option]) -> tuple[str, str] | None:
    """Nothing but labels: "B", "(B)", "Option B.", "the answer is **B**", "A or C"."""
    words = _DECORATION.sub(" ", said).split()
    while len(words) > 1 and _LEAD.fullmatch(words[0]):
        words = words[1:]
    if not words or {words[0].lower(), words[-1].lower()} & _JOIN:
        return None
    named = [word.upper() for word in words if word.lower() not in _JOIN]
    if not set(named) <= {option.label for option in options}:
        return None
    return _only(tuple(dict.fromkeys(named)), "the answer names")


def _text_of(said: str, options: Sequence[Option]) -> tuple[str, str] | None:
    return _only(_same_text(said, options), "the answer's text fits")


def _labelled(said: str, options: Sequence[Option], *, free: bool) -> tuple[str, str] | None:
    """A label and its option's text, or, between tags, a label set off from whatever follows.

    Without tags the last line may be one of a list that was still being discussed, so there its words must be right.
    """
    found = _LABELLED.fullmatch(said.lstrip("([* "))
    if not found or found["label"] not in {option.label for option in options}:
        return None
    label, fitting = found["label"], _same_text(found["rest"], options)
    if fitting and label not in fitting:
        return "", f"ambiguous: label {label} stands beside the text of option {fitting[0]}"
    return (label, "") if fitting or (found["mark"] and not free) else None


def _same_text(said: str, options: Sequence[Option]) -> tuple[str, ...]:
    """Labels of the options that say this; letter case counts only where it tells two options apart."""
    exact = tuple(option.label for option in options if squeezed(option.text) == squeezed(said))
    plain = _plain(said)
    return exact or tuple(option.label for option in options if plain and _plain(option.text) == plain)


def _plain(text: str) -> str:
    return squeezed(text).strip("*`\"' ").rstrip(".").casefold()


def _only(labels: tuple[str, ...], what: str) -> tuple[str, str] | None:
    if len(labels) > 1:
        return "", f"ambiguous: {what} options {', '.join(labels[:-1])} and {labels[-1]}; it must choose one"
    return (labels[0], "") if labels else None


def _unknown(said: str, options: Sequence[Option]) -> str:
    shown = said if len(said) <= _SHOWN else said[:_SHOWN] + " ..."
    return f"no option recognised in {shown!r}: answer with one label, {options[0].label} to {options[-1].label}"
