"""Numbers and places as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from skillopt.journal.places import StepName
from skillopt.journal.view import RunView
from skillopt.types import JSON


def setting(view: RunView, section: str, key: str) -> JSON:
    """A value of the run's own configuration; None when the journal does not say."""
    resolved = cast("Mapping[str, Mapping[str, JSON]]", view.config.get("resolved") or {})
    return resolved.get(section, {}).get(key)


def place(view: RunView, at: str) -> str:
    """The label of a place: `[Step 3/8]`, `[Epoch 2]`, `[Baseline]`."""
    at = at.partition("/candidate")[0]
    name = StepName.parse(at)
    if name is not None:
        number = (name.epoch - 1) * view.plan.get("steps_per_epoch", 0) + name.step
        total = view.plan.get("total_steps")
        return f"[Step {number}/{total}]" if total else f"[Step {number}]"
    kind, _, epoch = at.partition("/e")
    return f"[Epoch {int(epoch)}]" if kind in ("slow", "meta") and epoch.isdigit() else f"[{at.capitalize()}]"


def score(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def apart(one: float, two: float) -> tuple[str, str]:
    """Two scores with as many decimals as it takes to tell them apart, two to four."""
    for digits in (2, 3, 4):
        first, second = f"{one:.{digits}f}", f"{two:.{digits}f}"
        if first != second or one == two:
            return first, second
    return f"{one:.6g}", f"{two:.6g}"


def count(n: int, noun: str, plural: str = "") -> str:
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def tokens(n: int) -> str:
    if n < 10_000:
        return str(n)
    return f"{n / 1e3:.0f}k" if n < 999_500 else f"{n / 1e6:.1f}M"


def duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours}h {minutes:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


def one_line(text: str, width: int = 160) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 4] + " ..."
