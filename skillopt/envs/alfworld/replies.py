"""What a reply says to do: one command between tags, after the thinking.

Case, spacing and quotation marks do not count. A reply without a command is told apart from a command that the game
does not know; neither is turned into a harmless command behind the model's back.
"""

from __future__ import annotations

import re

_ACTION = re.compile(r"<action>(.*?)</action>", re.IGNORECASE | re.DOTALL)
_THOUGHT = re.compile(r"</think>", re.IGNORECASE)
_MARKS = "\"'`*. "


def command_in(reply: str) -> str:
    """The command of a reply; "" where there is none.

    An action that is only thought about does not count; of several, the first does, since the others would be guesses
    about what follows.
    """
    thoughts = list(_THOUGHT.finditer(reply))
    found = _ACTION.search(reply, thoughts[-1].end() if thoughts else 0)
    return " ".join(found.group(1).lower().split()).strip(_MARKS) if found else ""
