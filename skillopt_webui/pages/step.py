"""The page of one step: what changed in the skill, who asked for it, and what the gate saw."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from markupsafe import Markup

from skillopt.journal.places import StepView
from skillopt.progress.words import duration, tokens
from skillopt.types import JSON, Decision, Edit, Reflection
from skillopt_webui.pages.words import STAGES, action, items_of, kind_of, number
from skillopt_webui.reading.follower import Follower
from skillopt_webui.reading.ledger import Ledger
from skillopt_webui.text import blocks, diff_words, markdown

SUPPORT_SHOWN = 12


def step_page(follower: Follower, step: StepView, *, rendered: bool) -> dict[str, JSON]:
    view, ledger = follower.view, follower.ledger
    decision = step.decision
    before = _before(follower, step)
    after = decision.candidate if decision else before
    order = [s.decision.at for s in ledger.verdicts if s.epoch]
    place = order.index(step.at) if step.at in order else len(order)
    return {
        "at": step.at,
        "number": step.step,
        "total": view.plan.get("total_steps", 0),
        "epoch": step.epoch,
        "previous": order[place - 1] if 0 < place <= len(order) else "",
        "next": order[place + 1] if place + 1 < len(order) else "",
        "rendered": rendered,
        "changed": before != after,
        "diff": diff_blocks(before, after) if rendered else diff_words(before, after),
        "decision": _decision(decision) if decision else None,
        "edits": _edits(step, ledger),
        "dropped": _dropped(step, ledger),
        "reasoning": step.selected.patch.reasoning if step.selected else "",
        "budget": step.selected.budget if step.selected else None,
        "flips": _flips(decision, ledger) if decision else None,
        "training": {"score": number(step.tally.hard), "soft": number(step.tally.soft), "on": items_of(step.tally)},
        "reflections": [_reflection(r, ledger) for r in step.reflections],
        "rate": step.rate,
        "timings": [(STAGES.get(s, s), duration(t)) for s, t in step.timings.items()],
        "usage": [(label, u.calls, tokens(u.total_tokens)) for label, u in step.usage.items()],
        "seconds": duration(step.seconds),
        "memory": decision.memory if decision else None,
    }


def _before(follower: Follower, step: StepView) -> str:
    """The document that the step started from."""
    skills = follower.view.skills
    earlier = [n for n in skills if n < step.step]
    return skills[max(earlier)].text if earlier else follower.view.seed_skill


def _decision(decision: Decision) -> dict[str, JSON]:
    sign, words = action(decision)
    return {
        "sign": sign,
        "words": words,
        "kind": kind_of(decision),
        "score": number(decision.objective, 4),
        "bar": number(decision.bar, 4),
        "reason": decision.reason,
        "hard": number(decision.tally.hard) if decision.tally else "–",
        "soft": number(decision.tally.soft) if decision.tally else "–",
        "on": items_of(decision.tally),
    }


def _edits(step: StepView, ledger: Ledger) -> list[dict[str, JSON]]:
    decision = step.decision
    patch = decision.patch if decision else step.selected.patch if step.selected else None
    reports = {r.index: r for r in decision.reports} if decision else {}
    rows: list[dict[str, JSON]] = []
    for index, edit in enumerate(patch.edits if patch else (), start=1):
        report = reports.get(index)
        status = report.status.replace("_", " ") if report else "not applied yet"
        rows.append(_edit(edit, ledger) | {"status": status, "applied": bool(report and report.applied)})
    return rows


def _dropped(step: StepView, ledger: Ledger) -> list[dict[str, JSON]]:
    """Edits of the pool that the learning rate left out."""
    if step.selected is None:
        return []
    kept = {(e.op, e.content, e.target) for e in step.selected.patch.edits}
    return [_edit(e, ledger) for e in step.selected.pool.edits if (e.op, e.content, e.target) not in kept]


def _edit(edit: Edit, ledger: Ledger) -> dict[str, JSON]:
    return {
        "op": edit.op.replace("_", " "),
        "content": edit.content,
        "target": edit.target,
        "why": edit.why,
        "source": {"failure": "from failures", "success": "from successes"}.get(
            edit.source_type or "", edit.source_type or ""
        ),
        "count": edit.support_count if edit.support_count is not None else len(edit.support),
        "support": item_links(edit.support[:SUPPORT_SHOWN], ledger),
        "more": max(0, len(edit.support) - SUPPORT_SHOWN),
    }


def item_links(ids: Sequence[str], ledger: Ledger) -> list[dict[str, str]]:
    """Items by id, with the name of their page and what they ask; an id that was never attempted has no page."""
    rows: list[dict[str, str]] = []
    for item in ids:
        digest = ledger.ids.get(item, "")
        rows.append({"id": item, "digest": digest, "task": ledger.items[digest].task if digest else ""})
    return rows


def _flips(decision: Decision, ledger: Ledger) -> dict[str, JSON]:
    return {"gained": item_links(decision.gained, ledger), "broken": item_links(decision.broken, ledger)}


def _reflection(reflection: Reflection, ledger: Ledger) -> dict[str, JSON]:
    return {
        "source": reflection.source,
        "size": len(reflection.items),
        "edits": len(reflection.patch.edits),
        "reasoning": reflection.patch.reasoning,
        "lost": reflection.lost or "",
        "patterns": [(p.name, p.description, p.count) for p in reflection.patterns],
        "links": item_links(reflection.items[:SUPPORT_SHOWN], ledger),
    }


def diff_blocks(old: str, new: str) -> Markup:
    """The rendered document with whole paragraphs marked as new or gone."""
    before, after = blocks(old), blocks(new)
    parts: list[Markup] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.extend(Markup("<div>{}</div>").format(markdown(b)) for b in before[i:j])
            continue
        parts.extend(
            Markup('<div class="gone"><span class="sign">−</span>{}</div>').format(markdown(b)) for b in before[i:j]
        )
        parts.extend(
            Markup('<div class="new"><span class="sign">+</span>{}</div>').format(markdown(b)) for b in after[k:m]
        )
    return Markup("").join(parts)
