"""What is known of a game's solution, for analysts: how people put it, the planner's plan, the shortest commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from skillopt.types import JSON

_DESCRIPTIONS = 3
_STEPS = 12


def reference_text(notes: Mapping[str, JSON], solution: Sequence[str]) -> str:
    """A few lines from a game's notes and its walkthrough; "" where there is neither."""
    annotated = _rows(_inside(notes, "turk_annotations").get("anns"))
    tasks = [str(row["task_desc"]).strip() for row in annotated if row.get("task_desc")][:_DESCRIPTIONS]
    human = next((row["high_descs"] for row in annotated if isinstance(row.get("high_descs"), list)), [])
    parts = (
        ("How people put the task", tasks),
        ("How a person did it", [str(step).strip() for step in human][:_STEPS]),
        ("The planner's plan", list(_plan(_rows(_inside(notes, "plan").get("high_pddl"))))),
        ("Goal parameters", [f"{k}: {v}" for k, v in _inside(notes, "pddl_params").items() if v not in ("", None)]),
        ("Commands that reach the goal", list(solution)),
    )
    return "\n\n".join(f"{title}:\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts if lines)


def _plan(rows: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    for row in rows:
        action = _inside(row, "discrete_action")
        named, arguments = action.get("action"), cast("list[JSON]", action.get("args") or [])
        if named and named != "NoOp":
            yield " ".join(map(str, (named, *arguments)))


def _inside(row: Mapping[str, JSON], key: str) -> Mapping[str, JSON]:
    value = row.get(key)
    return cast("Mapping[str, JSON]", value) if isinstance(value, dict) else {}


def _rows(value: JSON) -> list[Mapping[str, JSON]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
