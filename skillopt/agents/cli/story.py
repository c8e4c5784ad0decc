"""What a program did, gathered from its events while it runs: one form for all programs, bounded in length."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.types import JSON, Turn, canonical

LONGEST = 16_000
MOST_TURNS = 400
_CUT = "\n[... {} characters left out ...]\n"


@dataclass(slots=True)
class Story:
    """Mutable while the program runs. `error` is what the program itself reports as having gone wrong."""

    turns: list[Turn] = field(default_factory=list[Turn])
    answer: str = ""
    error: str = ""
    cost_usd: float | None = None
    dropped: int = 0
    malformed: int = 0

    def said(self, text: str) -> None:
        """A message of the agent; the last one is the answer."""
        if text.strip():
            self.answer = text
            self._add("assistant", text)

    def did(self, what: str) -> None:
        self._add("action", what)

    def saw(self, result: str) -> None:
        self._add("tool", result)

    def _add(self, role: str, text: str) -> None:
        if len(self.turns) >= MOST_TURNS:
            # The beginning explains the plan, the end the answer: the oldest of the later half goes.
            del self.turns[MOST_TURNS // 2]
            self.dropped += 1
        self.turns.append(Turn(role, shortened(text)))

    def told(self, *, details: bool) -> tuple[Turn, ...]:
        """The turns for the optimizer; without details only what the agent said at last."""
        if not details:
            return (Turn("assistant", shortened(self.answer)),)
        if not self.dropped:
            return tuple(self.turns)
        half = MOST_TURNS // 2
        note = Turn("verdict", f"{self.dropped} steps in the middle are not shown")
        return (*self.turns[:half], note, *self.turns[half:])


def shortened(text: str, limit: int = LONGEST) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[:half] + _CUT.format(len(text) - limit) + text[-half:]


def shown(value: JSON) -> str:
    """A value of an event as text."""
    return value if isinstance(value, str) else canonical(value)
