"""The analysts of the synthetic world. They propose the rule of each knack that failed, the most frequent first.

Now and then, by hash, one adds an edit that does nothing or one that does harm, as models do. They learn from what they
are shown: a stray edit that was rejected is not proposed again, and advice against general phrases is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skillopt.testing.chance import chance
from skillopt.testing.knacks import BY_NAME, KNACKS, Knack
from skillopt.testing.passages import Row, budget, section, trajectories

NEUTRAL = (
    "Read every passage before you answer.",
    "Prefer the passage whose title is named in the question.",
    "Keep the reasoning to a few sentences.",
)
HARM_RATE, NEUTRAL_RATE = 0.12, 0.3
ADVICE = "general advice changes nothing"
ADD, REMOVE = "Add this line: ", "Remove this line: "


@dataclass(frozen=True, slots=True)
class Mind:
    """What an optimizer model brings along. `habit` names a knack whose override it likes to propose."""

    seed: int = 0
    habit: str = ""


Answer = Callable[[str, Mind], Row]


def failure_analyst(user: str, mind: Mind) -> Row:
    seen = trajectories(user)
    known, counts = known_text(user), Counter[str]()
    support: dict[str, list[str]] = {}
    for item, knack in seen:
        counts[knack.name] += 1
        support.setdefault(knack.name, []).append(item)
    causes = [BY_NAME[name] for name, _ in counts.most_common()]
    edits = [edit for knack in causes for edit in _cures(knack, known, support[knack.name])]
    edits = (_habit(user, mind) + edits + _stray(user, mind))[: budget(user)]
    summary = [
        {
            "failure_type": knack.name,
            "count": counts[knack.name],
            "description": f"Answers of the kind {knack.name} were given in another form than asked for.",
            "items": support[knack.name],
        }
        for knack in causes
    ]
    patch = {"reasoning": "The form of the answers was wrong, not their content.", "edits": edits}
    return {"batch_size": len(seen), "failure_summary": summary, "patch": patch}


def success_analyst(user: str, mind: Mind) -> Row:
    seen = trajectories(user)
    patterns = sorted({f"{knack.name} answers follow the form asked for" for _, knack in seen})
    edits = _neutral(user, mind)[: budget(user)]
    return {
        "batch_size": len(seen),
        "success_patterns": patterns,
        "patch": {"reasoning": "Little is missing where things go well.", "edits": edits},
    }


def aware(analyst: Answer) -> Answer:
    """An analyst who tells lapses from faults: a rule that stands there and was not followed needs a reminder."""

    def answer(user: str, mind: Mind) -> Row:
        row, known, noted = analyst(user, mind), known_text(user), section(user, "execution_notes")
        knacks = {knack.name: knack for _, knack in trajectories(user)}
        lapses = [k for k in knacks.values() if f"Rule {k.name}:" in known and f"Reminder {k.name}:" not in noted]
        return row | {"appendix_notes": [knack.reminder for knack in lapses if knack.override not in known]}

    return answer


def suggesting(analyst: Answer) -> Answer:
    """The same analysis as suggestions for a rewrite."""

    def answer(user: str, mind: Mind) -> Row:
        row = analyst(user, mind)
        rows = [_suggestion(edit) for edit in row["patch"]["edits"]]
        return row | {"patch": {"reasoning": row["patch"]["reasoning"], "revise_suggestions": rows}}

    return answer


def writing(analyst: Answer) -> Answer:
    """The same analysis as a whole document; without anything to change, none."""

    def answer(user: str, mind: Mind) -> Row:
        row = analyst(user, mind)
        edits = row["patch"]["edits"]
        text = rewritten(section(user, "current_skill"), [_suggestion(edit)["instruction"] for edit in edits])
        document = {"title": "forms", "change_summary": [edit["why"] for edit in edits], "new_skill": text}
        return row | {"patch": {"reasoning": row["patch"]["reasoning"], "skill_candidates": [document][: len(edits)]}}

    return answer


def rewritten(document: str, instructions: list[str]) -> str:
    """The document with its instructions carried out line by line."""
    lines = document.splitlines()
    for instruction in instructions:
        if instruction.startswith(REMOVE):
            lines = [line for line in lines if instruction.removeprefix(REMOVE) not in line]
        elif (line := instruction.removeprefix(ADD)) not in lines:
            lines.append(line)
    return "\n".join(lines) + "\n"


def known_text(user: str) -> str:
    return section(user, "current_skill") + section(user, "slow_update_guidance")


def _suggestion(edit: Row) -> Row:
    text = REMOVE + edit["target"] if edit["op"] == "delete" else ADD + edit["content"]
    title = text.partition(": ")[2].partition(":")[0]
    return {"title": title, "instruction": text, "motivation": edit["why"], "support": edit.get("support") or []}


def _cures(knack: Knack, skill: str, items: list[str]) -> Iterator[Row]:
    reason = f"{len(items)} answers of the kind {knack.name} had the wrong form."
    if knack.override in skill:
        yield {"op": "delete", "target": knack.override, "content": "", "why": reason, "support": items}
    if knack.needs_rule and f"Rule {knack.name}:" not in skill:
        yield {"op": "append", "target": "", "content": knack.rule, "why": reason, "support": items}


def _habit(user: str, mind: Mind) -> list[Row]:
    """Once there are rules, a favourite idea for making one of them shorter comes first."""
    known = known_text(user)
    if not mind.habit or "Rule " not in known or BY_NAME[mind.habit].override in known:
        return []
    return _untried(user, _appended(BY_NAME[mind.habit].override, "A shorter way to answer."))


def _stray(user: str, mind: Mind) -> list[Row]:
    if chance(mind.seed, "harm", user) >= HARM_RATE:
        return _neutral(user, mind)
    victim = KNACKS[int(chance(mind.seed, "victim", user) * len(KNACKS))]
    return _untried(user, _appended(victim.override, "A shorter way to answer."))


def _neutral(user: str, mind: Mind) -> list[Row]:
    if chance(mind.seed, "neutral", user) >= NEUTRAL_RATE or ADVICE in section(user, "editing_memory"):
        return []
    text = NEUTRAL[int(chance(mind.seed, "which", user) * len(NEUTRAL))]
    if text in section(user, "current_skill"):
        return []
    return _untried(user, _appended(text, "A habit of good answers."))


def _untried(user: str, edit: Row) -> list[Row]:
    """The edit, unless it stands among what was rejected before."""
    return [] if edit["content"] in section(user, "previous_steps") else [edit]


def _appended(text: str, why: str) -> Row:
    return {"op": "append", "target": "", "content": text, "why": why}
