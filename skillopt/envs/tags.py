"""An answer between tags, `<answer>...</answer>`, as most benchmarks ask for it."""

from __future__ import annotations

import re

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)


def tagged(reply: str) -> bool:
    """Whether a reply holds an answer between tags."""
    return _TAGGED.search(reply) is not None


def extracted(reply: str) -> str:
    """The answer in a reply: inside the last pair of tags, else the last line that is not blank."""
    inside = _TAGGED.findall(reply)
    if inside:
        return inside[-1].strip()
    return next((line.strip() for line in reversed(reply.splitlines()) if line.strip()), reply.strip())
