"""How an episode ended, as a line of text: the answer that is recorded, and that scoring reads again."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"(not )?won after (\d+) steps: (\d+) replies without a command, (\d+) commands that were not possible"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`unreadable` replies held no command; `unknown` commands were not possible at that place. Both cost a step."""

    won: bool
    steps: int
    unreadable: int = 0
    unknown: int = 0

    def __str__(self) -> str:
        return (
            f"{'' if self.won else 'not '}won after {self.steps} steps: {self.unreadable} replies without a command, "
            f"{self.unknown} commands that were not possible"
        )

    @property
    def cause(self) -> str:
        """Why it was not won, in one word: unreadable, unknown_commands or step_limit; "" when it was."""
        if self.won:
            return ""
        if self.unreadable * 2 > self.steps:
            return "unreadable"
        return "unknown_commands" if self.unknown * 2 > self.steps else "step_limit"

    @property
    def fail_reason(self) -> str:
        said = {
            "": "",
            "unreadable": "unreadable: most replies held no <action>",
            "unknown_commands": "unknown commands: most commands were none of those that the place allowed",
            "step_limit": f"step limit: not done after {self.steps} steps",
        }[self.cause]
        counts = ((self.unreadable, "replies without an <action>"), (self.unknown, "commands that were not possible"))
        noted = [f"{count} {what}" for count, what in counts if count]
        return f"{said} ({', '.join(noted)})" if said and noted else said


def outcome_in(answer: str) -> Outcome | None:
    """The outcome that a recorded answer tells; None for any other text."""
    found = _LINE.fullmatch(answer)
    if found is None:
        return None
    steps, unreadable, unknown = (int(found.group(n)) for n in (2, 3, 4))
    return Outcome(found.group(1) is None, steps, unreadable, unknown)
