"""What a run cost and what went wrong with it, and the notes it wrote for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from skillopt.journal.view import RunView
from skillopt.progress.words import setting, tokens
from skillopt.types import JSON
from skillopt_webui.pages.words import STAGES, action, money, number, place_name, spent
from skillopt_webui.reading.follower import Follower
from skillopt_webui.reading.ledger import Account

TROUBLES_SHOWN = 30


def spend(follower: Follower, caps: Mapping[str, JSON]) -> dict[str, JSON]:
    """By role and stage, and how much of the cap is used."""
    ledger, view = follower.ledger, follower.view
    total = ledger.total()

    def weigh(account: Account) -> float:
        return account.cost_usd if total.cost_usd else float(account.tokens)

    rows = [
        _spend_row(role, label, a, weigh(a) / (weigh(total) or 1))
        for (role, label), a in sorted(ledger.accounts.items(), key=lambda r: -weigh(r[1]))
    ]
    bars: list[dict[str, JSON]] = []
    for key, label, used, said in (
        ("max_cost_usd", "Cost", total.cost_usd, money(total.cost_usd)),
        ("max_tokens", "Tokens", total.tokens, tokens(total.tokens)),
        ("max_calls", "Calls", total.calls, str(total.calls)),
    ):
        cap = caps.get(key) or setting(view, "budget", key)
        if isinstance(cap, (int, float)) and cap:
            shown = money(float(cap)) if key == "max_cost_usd" else tokens(int(cap))
            bars.append(
                {"label": label, "used": used, "cap": cap, "words": f"{said} of {shown}", "full": used >= 0.9 * cap}
            )
    return {"rows": rows, "bars": bars, "unpriced": total.unpriced, "calls": total.calls, "total": spent(total)}


def _spend_row(role: str, label: str, account: Account, share: float) -> dict[str, JSON]:
    return {
        "role": role, "label": label, "calls": account.calls, "tokens": tokens(account.tokens),
        "cost": "unknown" if account.unpriced >= account.calls else money(account.cost_usd),
        "share": round(share * 100),
    }  # fmt: skip


def troubles(follower: Follower) -> dict[str, JSON]:
    """What went wrong, most frequent first; nothing is said of what did not happen."""
    view = follower.view
    kinds = Counter(m.failure.kind for m in view.missing)
    numbers = {v.decision.at: v.number for v in follower.ledger.verdicts if v.epoch}
    listed = [
        {"where": place_name(m.at, numbers.get(m.at)), "what": f"no result for {m.item}",
         "why": f"{m.failure.kind}: {m.failure.message}", "item": follower.ledger.ids.get(m.item, "")}
        for m in reversed(view.missing[-TROUBLES_SHOWN:])
    ]  # fmt: skip
    listed += [
        {
            "where": place_name(m.at, numbers.get(m.at)),
            "what": f"{STAGES.get(m.stage, m.stage)}: {word}",
            "why": m.reason,
            "item": "",
        }
        for word, found in (("answer lost", view.lost), ("fell back", view.fallbacks))
        for m in reversed(found[-TROUBLES_SHOWN:])
    ]
    counts = [f"{n} × {kind}" for kind, n in kinds.most_common()]
    if view.lost:
        counts.append(f"{len(view.lost)} reflections lost")
    if view.fallbacks:
        counts.append(f"{len(view.fallbacks)} fallbacks")
    return {
        "counts": counts,
        "rows": listed[:TROUBLES_SHOWN],
        "retries": follower.ledger.total().retries,
        "total": len(view.missing) + len(view.lost) + len(view.fallbacks),
    }


def notes(view: RunView) -> list[dict[str, JSON]]:
    """Slow updates and the meta skill, newest first."""
    rows: list[dict[str, JSON]] = []
    for epoch, slow in view.slow_updates.items():
        decision = view.decision(f"slow/e{epoch:02d}")
        rows.append(
            {"epoch": epoch, "what": "Slow update", "text": slow.content, "why": slow.reasoning,
             "lost": slow.lost or "",
             "verdict": " ".join(action(decision)) if decision else "",
             "numbers": "" if slow.curr_hard is None
             else f"training items {number(slow.prev_hard)} → {number(slow.curr_hard)}"}
        )  # fmt: skip
    for epoch, meta in view.meta_skills.items():
        rows.append(
            {
                "epoch": epoch,
                "what": "Meta skill",
                "text": meta.content,
                "why": meta.reasoning,
                "lost": meta.lost or "",
                "verdict": "",
                "numbers": "",
            }
        )
    return sorted(rows, key=lambda r: (-int(r["epoch"]), str(r["what"])))
