"""What goes wrong at the loopback server, and what it has counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each fault befalls a request. `retry_after` is what a 429 asks for, in seconds."""

    rate_429: float = 0.0
    retry_after: float = 0.05
    rate_500: float = 0.0
    rate_drop: float = 0.0
    rate_malformed: float = 0.0
    rate_hang: float = 0.0

    @property
    def any(self) -> bool:
        return self.rate_429 + self.rate_500 + self.rate_drop + self.rate_malformed + self.rate_hang > 0

    def pick(self, number: float) -> str:
        """The fault that a number in [0, 1) stands for, or an empty text."""
        rates = (self.rate_429, self.rate_500, self.rate_drop, self.rate_malformed, self.rate_hang)
        for name, rate in zip(("429", "500", "drop", "malformed", "hang"), rates, strict=True):
            if number < rate:
                return name
            number -= rate
        return ""


@dataclass(slots=True)
class Counts:
    """What the server has seen since it started or was reset."""

    requests: int = 0
    answered: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    seen: Counter[str] = field(default_factory=Counter[str])
    answers: Counter[str] = field(default_factory=Counter[str])
    roles: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])

    def answer(self, digest: str, role: str) -> None:
        self.answered += 1
        self.answers[digest] += 1
        self.roles[role] += 1

    def to_dict(self) -> dict[str, JSON]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "roles": dict(self.roles),
            "faults": dict(self.faults),
            "answers": dict(self.answers),
        }
