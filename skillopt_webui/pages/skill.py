"""The skill and its history: every paragraph with the step that brought it and the items that argued for it."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.types import JSON, Edit
from skillopt_webui.pages.step import diff_blocks, item_links
from skillopt_webui.pages.words import number, place_name
from skillopt_webui.reading.follower import Follower
from skillopt_webui.text import blocks, diff_words, markdown

_MARKERS = ("<!-- SLOW_UPDATE", "<!-- APPENDIX", "<!--")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a paragraph came from. `at` is "" for what the skill began with."""

    at: str
    number: int
    edit: Edit | None = None


def versions(follower: Follower) -> dict[int, str]:
    """The document after each step that changed it, the first one included."""
    found: dict[int, str] = {}
    for step, skill in sorted(follower.view.skills.items()):
        if not found or skill.text != next(reversed(found.values())):
            found[step] = skill.text
    return found


def skill_page(follower: Follower, *, version: int | None, view: str) -> dict[str, JSON]:
    """`view` is rendered, raw or changes."""
    known = versions(follower)
    state = follower.view.state
    best = state.best.text if state else ""
    order = list(known)
    chosen = version if version in known else next((n for n in order if known[n] == best), order[-1] if order else 0)
    place = order.index(chosen) if chosen in order else 0
    text = known.get(chosen, "")
    before = known[order[place - 1]] if place else ""
    return {
        "version": chosen,
        "order": order,
        "place": place,
        "previous": order[place - 1] if place else None,
        "next": order[place + 1] if place + 1 < len(order) else None,
        "labels": [_label(n, known[n], best) for n in order],
        "text": text,
        "is_best": text == best,
        "view": view,
        "changes": diff_words(before, text) if view == "changes" else "",
        "change_blocks": diff_blocks(before, text) if view == "changes" else "",
        "paragraphs": _paragraphs(follower, known, chosen) if view == "rendered" else [],
        "words": len(text.split()),
        "score": _score(follower, chosen),
    }


def _label(step: int, text: str, best: str) -> str:
    name = "start" if step == 0 else f"after step {step}"
    return f"{name} (best)" if text == best else name


def _score(follower: Follower, version: int) -> str:
    skill = follower.view.skills.get(version)
    tally = follower.view.measured(skill) if skill else None
    return number(tally.hard) if tally else ""


def _paragraphs(follower: Follower, known: dict[int, str], upto: int) -> list[dict[str, JSON]]:
    origin = evidence(follower, known, upto)
    rows: list[dict[str, JSON]] = []
    for block in blocks(known.get(upto, "")):
        if block.strip().startswith(_MARKERS) and block.strip().endswith("-->") and "\n" not in block.strip():
            continue
        shown = "\n".join(line for line in block.splitlines() if not line.strip().startswith("<!--"))
        found = origin.get(block, Evidence("", 0))
        edit = found.edit
        rows.append(
            {
                "html": markdown(shown),
                "at": found.at,
                "is_step": bool(found.at) and not found.at.startswith("slow"),
                "place": place_name(found.at, found.number)
                if found.at and not found.at.startswith("slow")
                else place_name(found.at),
                "why": edit.why if edit else "",
                "count": (edit.support_count or len(edit.support)) if edit else 0,
                "support": item_links(edit.support[:5], follower.ledger) if edit else [],
            }
        )
    return rows


def evidence(follower: Follower, known: dict[int, str], upto: int) -> dict[str, Evidence]:
    """Paragraph -> the step that first had it, walking the versions from the first to the chosen one."""
    origin: dict[str, Evidence] = {}
    places = {v.number: v.decision for v in follower.ledger.verdicts if v.epoch}
    slow = {
        v.number: v.decision
        for v in follower.ledger.verdicts
        if v.decision.at.startswith("slow/") and v.decision.action != "reject"
    }
    for step, text in known.items():
        if step > upto:
            break
        for block in blocks(text):
            if block in origin or step == 0:
                origin.setdefault(block, Evidence("", 0))
                continue
            decision = places.get(step)
            edit = _edit_for(block, decision.patch.edits) if decision else None
            late = slow.get(step)
            taken = decision is not None and decision.action in ("accept", "accept_new_best", "force_accept")
            if edit is None and late is not None and (not taken or (decision and block not in decision.candidate)):
                origin[block] = Evidence(late.at, step)
            else:
                origin[block] = Evidence(decision.at if decision else "", step, edit)
    return origin


def _edit_for(block: str, edits: tuple[Edit, ...]) -> Edit | None:
    """The edit whose text the paragraph holds, or that holds the paragraph."""
    wanted = block.strip()
    for edit in edits:
        content = edit.content.strip()
        if content and (content in wanted or wanted in content):
            return edit
    return None
