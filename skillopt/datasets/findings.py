"""What an audit finds: how bad it is, what it is, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.types import JSON

Severity = Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` is a short steady name for machines; `where` are places such as `test:17`, or pairs of them."""

    severity: Severity
    check: str
    what: str
    where: tuple[str, ...] = ()
    todo: str = ""

    def to_dict(self) -> dict[str, JSON]:
        return {
            "severity": self.severity,
            "check": self.check,
            "what": self.what,
            "where": list(self.where),
            "todo": self.todo,
        }


def percent(share: float) -> str:
    return f"{100 * share:.0f}%"
