"""A script within a reply, and a script as a reply.

A reply is text with fenced blocks; the script is the first block that says it is Python, else the first block, else the
whole text. A fence may be longer than three marks, so a script that holds fences of its own can be given whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPEN = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`]*)[^\n`]*")
_PYTHON = frozenset({"python", "py", "python3"})


def script_in(reply: str) -> str:
    """The script; "" where there is none."""
    blocks = list(_blocks(reply))
    if not blocks:
        return reply if reply.strip() else ""
    chosen = next((text for tag, text in blocks if tag.lower() in _PYTHON), blocks[0][1])
    return chosen if chosen.strip() else ""


def as_reply(script: str) -> str:
    """A reply from which `script_in` takes exactly this script."""
    if not script.strip():
        return ""
    longest = max((len(marks) for marks in re.findall(r"`+", script)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{script}{'' if script.endswith(chr(10)) else chr(10)}{fence}"


def _blocks(reply: str) -> Iterator[tuple[str, str]]:
    """(tag, content) of each block; one that is never closed goes to the end, as when a reply was cut off."""
    tag, fence = "", ""
    inside: list[str] = []
    for line in reply.splitlines(keepends=True):
        bare = line.strip()
        if not fence:
            if found := _OPEN.fullmatch(line.rstrip("\r\n")):
                tag, fence, inside = found["tag"], found["fence"], []
        elif len(bare) >= len(fence) and bare == fence[0] * len(bare):
            yield tag, "".join(inside)
            fence = ""
        else:
            inside.append(line)
    if fence:
        yield tag, "".join(inside)
