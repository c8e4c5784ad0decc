"""The list of runs: search, order and pages are decided here, so that ten thousand runs are no more work than ten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.progress.words import duration, tokens
from skillopt.types import JSON
from skillopt_webui.charts import sparkline
from skillopt_webui.pages.words import SIGNS, ago, money, number, signed
from skillopt_webui.reading.catalogue import Entry
from skillopt_webui.reading.summary import Standing, Summary

PAGE = 50


@dataclass(frozen=True, slots=True)
class Row:
    entry: Entry
    summary: Summary | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Wish:
    """What the reader asked of the list. An order with a minus in front is turned round."""

    query: str = ""
    order: str = "-age"
    page: int = 1


def runs_page(rows: Sequence[Row], wish: Wish, now: float) -> dict[str, JSON]:
    found = [row for row in rows if _matches(row, wish.query)]
    ordered = _ordered(found, wish.order)
    pages = max(1, -(-len(ordered) // PAGE))
    page = min(max(1, wish.page), pages)
    shown = ordered[(page - 1) * PAGE : page * PAGE]
    return {
        "rows": [_row(row, now) for row in shown],
        "total": len(rows),
        "found": len(found),
        "live": sum(row.standing.live for row in rows),
        "query": wish.query,
        "order": wish.order,
        "page": page,
        "pages": pages,
        "columns": [(name, label, _turned(name, wish.order), _arrow(name, wish.order)) for name, label in _COLUMNS],
    }


_COLUMNS = (
    ("name", "Run"), ("status", "Status"), ("target", "Models"), ("best", "Best val"), ("lift", "Test lift"),
    ("spend", "Spend"), ("age", "Last event"),
)  # fmt: skip


def _turned(name: str, order: str) -> str:
    """What a click on a column asks for: numbers begin with the largest."""
    first = name if name in ("name", "status", "target") else f"-{name}"
    if order == first:
        return first[1:] if first.startswith("-") else f"-{first}"
    return first


def _arrow(name: str, order: str) -> str:
    return "" if order.lstrip("-") != name else ("↓" if order.startswith("-") else "↑")


def _matches(row: Row, query: str) -> bool:
    known = row.summary
    parts = [row.entry.name, row.standing.word]
    parts += [known.benchmark, known.target, known.optimizer] if known else []
    text = " ".join(parts).lower()
    return all(word in text for word in query.lower().split())


def _ordered(rows: Sequence[Row], order: str) -> list[Row]:
    name, down = order.lstrip("-"), order.startswith("-")

    def value(row: Row) -> float | str | None:
        known = row.summary
        if name in ("name", "status"):
            return row.entry.name.lower() if name == "name" else row.standing.word
        if known is None:
            return None
        values: dict[str, float | str | None] = {
            "target": known.target, "best": known.best, "lift": known.lift[0] if known.lift else None,
            "spend": known.cost_usd or known.tokens / 1e12, "age": known.last,
        }  # fmt: skip
        return values.get(name, known.last)

    known = [row for row in rows if value(row) is not None]
    unknown = [row for row in rows if value(row) is None]
    return sorted(known, key=lambda row: value(row) or 0, reverse=down) + unknown


def _row(row: Row, now: float) -> dict[str, JSON]:
    known, how = row.summary, row.standing
    base: dict[str, JSON] = {
        "id": row.entry.id,
        "name": row.entry.name,
        "sign": SIGNS[how.word],
        "word": how.word,
        "reason": how.reason,
    }
    if known is None:
        return base | {"known": False}
    return base | {
        "known": True,
        "kind": known.kind,
        "benchmark": known.benchmark or "unknown benchmark",
        "target": known.target,
        "optimizer": known.optimizer,
        "step": known.step,
        "steps": known.steps,
        "best": number(known.best),
        "gain": None if known.best is None or known.start is None else signed(known.best - known.start),
        "spark": sparkline(known.curve),
        "test": number(known.test_after),
        "lift": signed(known.lift[0]) if known.lift else "",
        "interval": f"{signed(known.lift[1])} to {signed(known.lift[2])}" if known.lift else "",
        "cost": spend_words(known),
        "tokens": tokens(known.tokens),
        "cap": money(known.cap_usd) if known.cap_usd else "",
        "age": ago(now - known.last) if known.last else "",
        "seconds": duration(known.seconds),
        "missing": known.missing,
    }


def spend_words(known: Summary) -> str:
    if not known.tokens and not known.cost_usd:
        return "–"
    return money(known.cost_usd) if known.cost_usd else f"{tokens(known.tokens)} tokens"
