"""The optimizer roles of the synthetic world: they read the same prompts as a real model and answer the same JSON.

A role is known by the title line of its system prompt. An analyst proposes the rule of each knack that failed, the most
frequent first; now and then, by hash, it adds an edit that does nothing or one that does harm, as models do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from skillopt.testing.chance import chance
from skillopt.testing.knacks import BY_ASK, BY_NAME, KNACKS, QUESTION, Knack
from skillopt.types import JSON

Row = dict[str, JSON]

NEUTRAL = (
    "Read every passage before you answer.",
    "Prefer the passage whose title is named in the question.",
    "Keep the reasoning to a few sentences.",
)
HARM_RATE, NEUTRAL_RATE = 0.12, 0.3

_BUDGET = re.compile(r"at most (\d+)", re.IGNORECASE)
_CATEGORY = re.compile(rf"{QUESTION.pattern}|((?i:regress|persist|improv|stable))")
_NUMBERED = re.compile(r"^[ \t]*(?:[#*-]+[ \t]*)?(?:edit[ \t]+)?[\[(]?(\d+)[\]).:]", re.IGNORECASE | re.MULTILINE)
_SUPPORT = re.compile(r"support\w*\W{1,6}(\d+)|(\d+) (?:items|supporting)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Editor:
    """One optimizer role: its name and its answer to a user prompt."""

    name: str
    answer: Callable[[str, int], Row]


def editor(system: str) -> Editor | None:
    """The role a system prompt speaks to, or None for the target."""
    title = system.lstrip().partition("\n")[0].strip().lower()
    return next((known for prefix, known in _EDITORS.items() if title.startswith(prefix)), None)


def failure_analyst(user: str, seed: int) -> Row:
    seen = _trajectories(user)
    known, counts = _section(user, "current_skill") + _section(user, "slow_update_guidance"), Counter[str]()
    support: dict[str, list[str]] = {}
    for item, knack in seen:
        counts[knack.name] += 1
        support.setdefault(knack.name, []).append(item)
    causes = [BY_NAME[name] for name, _ in counts.most_common()]
    edits = [edit for knack in causes for edit in _cures(knack, known, support[knack.name])]
    edits = (edits + _stray(user, seed))[: _budget(user)]
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


def success_analyst(user: str, seed: int) -> Row:
    seen = _trajectories(user)
    patterns = sorted({f"{knack.name} answers follow the form asked for" for _, knack in seen})
    edits = _neutral(user, seed)[: _budget(user)]
    return {
        "batch_size": len(seen),
        "success_patterns": patterns,
        "patch": {"reasoning": "Little is missing where things go well.", "edits": edits},
    }


def merge_editor(user: str, seed: int) -> Row:
    merged: dict[tuple[str, str, str], Row] = {}
    for edit in _edits(user):
        key = (str(edit.get("op")), str(edit.get("target") or ""), str(edit.get("content") or "").strip())
        count, ids = int(edit.get("support_count") or 1), list[str](edit.get("support") or ())
        if key in merged:
            kept = merged[key]
            kept["support_count"] += count
            kept["support"] += [i for i in ids if i not in kept["support"]]
        else:
            merged[key] = {**edit, "support_count": count, "support": ids}
    edits = sorted(merged.values(), key=lambda edit: -int(edit["support_count"]))
    return {"reasoning": f"{len(edits)} different edits remain.", "edits": edits}


def ranking_editor(user: str, seed: int) -> Row:
    """Rules first, by support; then the rest; overrides last, and not at all if there is enough else."""
    rows = _numbered(_section(user, "proposed_edits") or user)
    order = sorted(rows, key=lambda index: (_worth(rows[index]), -_supported(rows[index]), index))
    return {"reasoning": "Rules with the widest support come first.", "selected_indices": order[: _budget(user)]}


def slow_update(user: str, seed: int) -> Row:
    """Guidance that repairs: the rules of what still fails, and those the previous guidance held."""
    comparison = _section(user, "comparison") or user
    kept = set(re.findall(r"Rule ([a-z-]+):", _section(user, "previous_guidance")))
    named = kept | {knack.name for knack in _failing(comparison)}
    rules = [f"- {knack.rule}" for knack in KNACKS if knack.needs_rule and knack.name in named]
    content = "\n".join(["- Check the form of the answer before giving it.", *rules])
    return {"reasoning": f"{len(rules)} kinds of questions need a reminder.", "slow_update_content": content}


def meta_skill(user: str, seed: int) -> Row:
    failing = sorted({knack.name for knack in _failing(_section(user, "comparison") or user)})
    content = "- Rules on the form of an answer work here; general advice changes nothing.\n"
    content += f"- Not reached yet: {', '.join(failing) or 'nothing that is known'}."
    return {"reasoning": "Rules helped where they were given.", "meta_skill_content": content}


_EDITORS: Mapping[str, Editor] = {
    f"# {name}": Editor(name, answer)
    for name, answer in (
        ("failure analyst", failure_analyst),
        ("success analyst", success_analyst),
        ("merge editor", merge_editor),
        ("ranking editor", ranking_editor),
        ("slow update", slow_update),
        ("meta skill", meta_skill),
    )
}


def _cures(knack: Knack, skill: str, items: list[str]) -> Iterator[Row]:
    reason = f"{len(items)} answers of the kind {knack.name} had the wrong form."
    if knack.override in skill:
        yield {"op": "delete", "target": knack.override, "content": "", "why": reason, "support": items}
    if knack.needs_rule and f"Rule {knack.name}:" not in skill:
        yield {"op": "append", "target": "", "content": knack.rule, "why": reason, "support": items}


def _stray(user: str, seed: int) -> list[Row]:
    if chance(seed, "harm", user) >= HARM_RATE:
        return _neutral(user, seed)
    victim = KNACKS[int(chance(seed, "victim", user) * len(KNACKS))]
    return [{"op": "append", "target": "", "content": victim.override, "why": "A shorter way to answer."}]


def _neutral(user: str, seed: int) -> list[Row]:
    if chance(seed, "neutral", user) >= NEUTRAL_RATE:
        return []
    text = NEUTRAL[int(chance(seed, "which", user) * len(NEUTRAL))]
    if text in _section(user, "current_skill"):
        return []
    return [{"op": "append", "target": "", "content": text, "why": "A habit of good answers."}]


def _trajectories(user: str) -> list[tuple[str, Knack]]:
    """Each trajectory's id and knack; a text without trajectory tags is read question by question."""
    blocks = re.findall(r"<trajectory>\n(.*?)\n</trajectory>", user, re.DOTALL)
    rows: dict[str, Knack] = {}
    for block in blocks or [user]:
        for number, found in enumerate(QUESTION.finditer(block)):
            knack = BY_ASK.get(found.group(2))
            if knack is None or (blocks and number):
                continue
            name = re.search(r"^id: (.+)$", block, re.MULTILINE) if blocks else None
            rows.setdefault(name.group(1).strip() if name else found.group(), knack)
    return list(rows.items())


def _failing(comparison: str) -> Iterator[Knack]:
    """Knacks of the questions that stand under a heading of regressed or persistent failures."""
    heading = "persist"
    for found in _CATEGORY.finditer(comparison):
        heading = (found.group(3) or heading).lower()
        knack = BY_ASK.get(found.group(2) or "")
        if knack is not None and heading in ("regress", "persist"):
            yield knack


def _edits(user: str) -> Iterator[Row]:
    """Every edit of every JSON value in the text, wherever it is nested."""
    decoder, at = json.JSONDecoder(), 0
    while (at := user.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(user, at)
        except ValueError:
            at += 1
            continue
        yield from _nested(value)


def _nested(value: JSON) -> Iterator[Row]:
    if isinstance(value, list):
        for part in value:
            yield from _nested(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key == "edits" and isinstance(part, list):
                yield from (edit for edit in part if isinstance(edit, dict))
            else:
                yield from _nested(part)


def _numbered(text: str) -> dict[int, str]:
    """Numbered entries, by their numbers; a number out of sequence belongs to an entry's own text."""
    starts: list[tuple[int, int]] = []
    for found in _NUMBERED.finditer(text):
        number = int(found.group(1))
        if number == (starts[-1][0] + 1 if starts else number if number < 2 else -1):
            starts.append((number, found.start()))
    ends = [start for _, start in starts[1:]] + [len(text)]
    return {number: text[start:end] for (number, start), end in zip(starts, ends, strict=True)}


def _worth(entry: str) -> int:
    cures = "Rule " in entry or ("delete" in entry and "Override " in entry)
    return 0 if cures else 2 if "Override " in entry else 1


def _supported(entry: str) -> int:
    found = _SUPPORT.search(entry)
    return int(found.group(1) or found.group(2)) if found else 0


def _budget(user: str) -> int:
    found = _BUDGET.search(user)
    return int(found.group(1)) if found else 4


def _section(user: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", user, re.DOTALL)
    return found.group(1) if found else ""
