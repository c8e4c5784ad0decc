"""Does each accepted edit still earn its place? The best document is measured without it, on the same items.

An edit is taken out by its inverse: what it wrote is deleted, what it replaced comes back. Where later edits have
changed its text, the lines of it that are left go. A slow update or an appendix is taken out as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from skillopt.claims.evidence import Line, Source, blame, sources
from skillopt.claims.ledger import Judged, Ledger
from skillopt.evaluation.objective import Objective
from skillopt.evaluation.statistics import Interval, paired_bootstrap
from skillopt.skill.document import Skill
from skillopt.types import JSON, Edit, Patch, Rollout


@dataclass(frozen=True, slots=True)
class Without:
    """The best document without one accepted edit."""

    name: str
    at: str
    edit: int | None
    wrote: str
    skill: Skill


@dataclass(frozen=True, slots=True)
class Ablated:
    """`worth` is the score with the edit minus the score without it: above zero the edit helps."""

    name: str
    at: str
    wrote: str
    worth: Interval
    helps: tuple[str, ...]
    harms: tuple[str, ...]

    def to_dict(self) -> dict[str, JSON]:
        return asdict(self)


def documents(ledger: Ledger) -> tuple[Without, ...]:
    """One document for each accepted edit that still shows in the best one."""
    best, lines = ledger.best, blame(ledger)
    judged = {each.decision.at: each for each in ledger.judged}
    found: dict[str, Without] = {}
    for source in sources(lines):
        text = _taken_out(best, source, judged.get(source.at), lines)
        if text.digest == best.digest:
            continue
        name = source.at if source.edit is None else f"{source.at}.{source.edit}"
        wrote = " ".join(line.text.strip() for line in lines if line.source == source and line.text.strip())
        found.setdefault(name, Without(name, source.at, source.edit, wrote, text))
    return tuple(found.values())


def ablated(
    with_it: Mapping[str, Rollout], without_it: Mapping[str, Rollout], document: Without, objective: Objective
) -> Ablated | None:
    """The worth of an edit on the items that both documents have a result for."""
    both = [i for i in sorted(with_it) if _scored(with_it, i) and _scored(without_it, i)]
    if not both:
        return None
    left = [_value(without_it[i], objective) for i in both]
    right = [_value(with_it[i], objective) for i in both]
    pairs = list(zip(both, left, right, strict=True))
    return Ablated(
        name=document.name,
        at=document.at,
        wrote=document.wrote,
        worth=paired_bootstrap(left, right),
        helps=tuple(with_it[i].item for i, a, b in pairs if b > a),
        harms=tuple(with_it[i].item for i, a, b in pairs if b < a),
    )


def _taken_out(best: Skill, source: Source, judged: Judged | None, lines: Sequence[Line]) -> Skill:
    if source.edit is not None and judged is not None:
        applied = best.apply(Patch((_inverse(judged.decision.patch.edits[source.edit - 1]),)))
        if applied.reports[0].applied:
            return applied.skill
    return Skill.parse("\n".join(line.text for line in lines if line.source != source) + "\n")


def _inverse(edit: Edit) -> Edit:
    if edit.op == "replace":
        return Edit(op="replace", target=edit.content, content=edit.target)
    return Edit(op="delete", target=edit.content)


def _scored(rows: Mapping[str, Rollout], item: str) -> bool:
    return item in rows and rows[item].score is not None


def _value(row: Rollout, objective: Objective) -> float:
    assert row.score is not None
    return objective.of_item(row.score)
