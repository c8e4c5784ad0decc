"""The optimizer roles of the synthetic world: they read the same prompts as a real model and answer the same JSON.

A role is known by the title line of its system prompt; an analyst whose prompt asks for reminders writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.testing.analysts import (
    ADVICE,
    Answer,
    Mind,
    aware,
    failure_analyst,
    rewritten,
    success_analyst,
    suggesting,
    writing,
)
from skillopt.testing.knacks import KNACKS
from skillopt.testing.passages import Row, budget, failing, numbered, payload, proposals, section, supported, values


@dataclass(frozen=True, slots=True)
class Editor:
    """One optimizer role: its name and its answer to a user prompt."""

    name: str
    answer: Answer


def editor(system: str) -> Editor | None:
    """The role a system prompt speaks to, or None for the target."""
    title = system.lstrip().partition("\n")[0].strip().lower()
    known = next((known for prefix, known in _EDITORS.items() if title.startswith(prefix)), None)
    if known and known.name == "failure analyst" and "appendix_notes" in system:
        return Editor(known.name, aware(known.answer))
    return known


def merge_editor(user: str, mind: Mind) -> Row:
    kind = payload(user)
    if kind == "skill_candidates":
        return _merged_documents(user)
    merged: dict[tuple[str, str], Row] = {}
    for edit in proposals(user):
        text = str(edit.get("content") or edit.get("instruction") or "").strip()
        key = (f"{edit.get('op')} {edit.get('target') or edit.get('title') or ''}", text)
        count, ids = int(edit.get("support_count") or 1), list[str](edit.get("support") or ())
        if key in merged:
            kept = merged[key]
            kept["support_count"] += count
            kept["support"] += [i for i in ids if i not in kept["support"]]
        else:
            merged[key] = {**edit, "support_count": count, "support": ids}
    edits = sorted(merged.values(), key=lambda edit: -int(edit["support_count"]))
    return {"reasoning": f"{len(edits)} different edits remain.", kind: edits}


def _merged_documents(user: str) -> Row:
    """One document with the lines of all, each once and in the order in which they come."""
    rows = list(proposals(user))
    lines = dict.fromkeys(line for row in rows for line in str(row["new_skill"]).splitlines() if line.strip())
    changes = [change for row in rows for change in row.get("change_summary") or ()]
    document = {"title": "forms", "change_summary": changes, "new_skill": "\n\n".join(lines), "source_type": "mixed"}
    return {"reasoning": f"{len(rows)} documents became one.", "skill_candidates": [document]}


def ranking_editor(user: str, mind: Mind) -> Row:
    """Rules first, by support; then the rest; overrides last, and not at all if there is enough else."""
    rows = numbered(section(user, "proposed_edits") or user)
    order = sorted(rows, key=lambda index: (_worth(rows[index]), -supported(rows[index]), index))
    return {"reasoning": "Rules with the widest support come first.", "selected_indices": order[: budget(user)]}


def learning_rate(user: str, mind: Mind) -> Row:
    """As many as are worth it: rules, and the removal of overrides."""
    rows = numbered(section(user, "proposed_edits"))
    rate = sum(_worth(row) == 0 for row in rows.values())
    reason = f"{rate} of {len(rows)} proposals name a rule."
    return {"learning_rate": rate, "reasoning": reason, "confidence": "high", "risk_notes": []}


def skill_rewriter(user: str, mind: Mind) -> Row:
    """The document with the suggestions carried out, and not a word of the regions it was shown."""
    rows = [row for row in values(section(user, "suggestions")) if isinstance(row, dict)]
    text = rewritten(section(user, "current_skill"), [str(row["instruction"]) for row in rows])
    changes = [str(row["title"]) for row in rows]
    return {"reasoning": "Line by line.", "change_summary": changes, "new_skill": text}


def appendix_editor(user: str, mind: Mind) -> Row:
    """Two reminders in one line, as far as they go."""
    notes = [line.removeprefix("- ") for line in section(user, "notes").splitlines()]
    return {"appendix_notes": [" ".join(notes[at : at + 2]) for at in range(0, len(notes), 2)]}


def slow_update(user: str, mind: Mind) -> Row:
    """Guidance that repairs: the rules of what still fails, and those the previous guidance held."""
    comparison, current = section(user, "comparison") or user, section(user, "current_skill")
    found = {knack.name for knack in failing(comparison)}
    named = found | set(re.findall(r"Rule ([a-z-]+):", section(user, "previous_guidance")))
    rules = [f"- {knack.rule}" for knack in KNACKS if knack.needs_rule and knack.name in named]
    repairs = [f"- {knack.restore}" for knack in KNACKS if knack.name in found and knack.override in current]
    content = "\n".join(["- Check the form of the answer before giving it.", *rules, *repairs])
    return {"reasoning": f"{len(rules)} kinds of questions need a reminder.", "slow_update_content": content}


def meta_skill(user: str, mind: Mind) -> Row:
    found = sorted({knack.name for knack in failing(section(user, "comparison") or user)})
    content = f"- Rules on the form of an answer work here; {ADVICE}.\n"
    content += f"- Not reached yet: {', '.join(found) or 'nothing that is known'}."
    return {"reasoning": "Rules helped where they were given.", "meta_skill_content": content}


_EDITORS: Mapping[str, Editor] = {
    f"# {title}": Editor(title.partition(":")[0], answer)
    for title, answer in (
        ("failure analyst: suggestions", suggesting(failure_analyst)),
        ("failure analyst: document", writing(failure_analyst)),
        ("failure analyst", failure_analyst),
        ("success analyst: suggestions", suggesting(success_analyst)),
        ("success analyst: document", writing(success_analyst)),
        ("success analyst", success_analyst),
        ("merge editor", merge_editor),
        ("ranking editor", ranking_editor),
        ("learning rate", learning_rate),
        ("skill rewriter", skill_rewriter),
        ("appendix editor", appendix_editor),
        ("slow update", slow_update),
        ("meta skill", meta_skill),
    )
}
"""By the beginning of the title line; a longer beginning comes before a shorter one."""


def _worth(entry: str) -> int:
    cures = "Rule " in entry or (("delete" in entry or "Remove " in entry) and "Override " in entry)
    return 0 if cures else 2 if "Override " in entry else 1
