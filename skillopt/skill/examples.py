"""Worked examples inside a skill document: one plain form that people, small models and the miner all read.

An example is a paragraph that begins with `Input:` and ends with its `Output:` line or lines; a blank line ends it. A
model that takes chat turns gets them as turns, a model that continues text sees them as they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_INPUT, _OUTPUT = "Input:", "Output:"
_BLOCK = re.compile(
    r"^Input:[ \t]*(?P<input>(?:(?!^(?:Input|Output):).*\n)+)Output:[ \t]*(?P<output>.*(?:\n(?![ \t]*\n|Input:|#).+)*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Example:
    """What goes in and the perfect reply to it."""

    input: str
    output: str

    @property
    def fits(self) -> bool:
        """Whether the plain form can carry it: both texts are there, and neither looks like the form itself."""
        lines = (*self.input.splitlines(), *self.output.splitlines()[1:])
        clean = not any(line.startswith((_INPUT, _OUTPUT, "#")) for line in lines)
        whole = not re.search(r"\n[ \t]*\n", self.output.strip())
        return bool(self.input.strip() and self.output.strip()) and clean and whole


@dataclass(frozen=True, slots=True)
class Parted:
    """A document without its worked examples, and the examples in order."""

    rest: str
    examples: tuple[Example, ...]


def render(example: Example) -> str:
    return f"{_INPUT} {example.input.strip()}\n{_OUTPUT} {example.output.strip()}"


def blocks(text: str) -> tuple[str, ...]:
    """The examples of a document as they stand in it, so that an edit can aim at one."""
    return tuple(found[0].strip() for found in _BLOCK.finditer(text))


def parted(text: str) -> Parted:
    """Take the worked examples out of a document."""
    found = tuple(Example(m["input"].strip(), m["output"].strip()) for m in _BLOCK.finditer(text))
    return Parted(re.sub(r"\n{3,}", "\n\n", _BLOCK.sub("", text)).strip(), found)
