"""The report as one HTML page without scripts and outside assets. Everything that came from data or models is escaped.

Documents and items are written by models and strangers: they are shown as text, never as markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from skillopt.claims.evidence import Line, Source
from skillopt.claims.figures import Figures, Lift, Selection
from skillopt.claims.reporting.charts import forest, score_curve
from skillopt.claims.reporting.content import Change, Content, points
from skillopt.types import Usage

MARK = '<script type="application/json" id="figures">'
_SHOWN = 12


def page(content: Content) -> str:
    """The whole page."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    figures = content.figures
    parts = (
        f"<h1>{escape(content.title)}</h1>",
        f'<p class="verdict">{escape(content.verdict)}</p>',
        _tiles(figures),
        _section("Test lift", _lifts(figures)),
        _section("Score curve on the selection items", _curve(figures)),
        _section("Selection score of the best skill", _list(content.selection)),
        _section("What was tried", "".join(map(_change, content.changes))),
        _section("The skill and its evidence", _skill(content.lines)),
        _section("Spend by stage", _spend(figures)),
        _section("Calibration", _list(content.calibration) if content.calibration else _uncalibrated()),
        _section("To check it", _checking(content)),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(content.title)}</title><style>\n{style}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + f"\n{MARK}{_data(figures)}</script>\n</body></html>\n"
    )


def _data(figures: Figures) -> str:
    """Figures for machines; `<` is spelled out, so that no text in them can close the element."""
    return json.dumps(figures.to_dict(), ensure_ascii=False).replace("<", "\\u003c")


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{title}</h2>{inside}</section>" if inside else ""


def _tiles(figures: Figures) -> str:
    lift, selection = figures.overall, figures.selection
    usage = sum(figures.spend.values(), Usage())
    cost = "price not known" if usage.unpriced >= usage.calls else f"${usage.cost_usd:.2f}"
    kept = sum(p.action.startswith(("accept", "promote", "force")) for p in figures.curve)
    tried = sum(p.action != "baseline" for p in figures.curve)
    rows = [
        (_lift_words(lift), f"{100 * lift.change.value:+.1f}" if lift else "not measured"),
        _selection_tile(selection),
        ("changes kept, of those decided", f"{kept} of {tried}"),
        (f"model calls, {cost}", f"{usage.calls:,}"),
    ]
    tiles = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in rows
    )
    return f'<div class="tiles">{tiles}</div>'


def _lift_words(lift: Lift | None) -> str:
    if lift is None:
        return "test lift"
    return f"points of test lift, 95% interval {100 * lift.change.low:+.1f} to {100 * lift.change.high:+.1f}"


def _selection_tile(selection: Selection | None) -> tuple[str, str]:
    if selection is None:
        return "selection score", "none"
    return (
        f"selection score, corrected; it won with {100 * selection.shrunk.naive:.1f}",
        f"{100 * selection.shrunk.value:.1f}",
    )


def _lifts(figures: Figures) -> str:
    if not figures.lifts:
        return "<p>The test split was not opened.</p>"
    rows = [
        (lift.kind, str(lift.change.n), points(lift.before), points(lift.after), points(lift.change, signed=True))
        for lift in figures.lifts
    ]
    head = ("kind of task", "items", "seed", "best", "lift, item by item")
    note = "<p class=muted>Intervals: Wilson for scores, paired bootstrap for the lift; n is the number of items.</p>"
    return forest(figures.lifts) + _table(head, rows, (1,)) + note


def _curve(figures: Figures) -> str:
    note = (
        "Dots are measured documents with 95% intervals: filled green were kept, hollow red were not. The line is the "
        "best score as the gate saw it; where the gate stopped early it saw fewer items than were measured since."
    )
    chart = score_curve(figures.curve)
    return f"{chart}<p class=muted>{note}</p>" if chart else ""


def _change(change: Change) -> str:
    kind = "kept" if change.kept else "left" if change.title == "reject" else "plain"
    parts = [
        f"<header><h3>{escape(change.at)}: {escape(change.title)}</h3><span>{escape(change.measured)}</span></header>",
        f"<p>{escape(change.reason)}</p>",
    ]
    parts += [f"<ul>{''.join(_edit(*edit) for edit in change.edits)}</ul>"] if change.edits else []
    parts += [f"<p class=muted>gained: {escape(_ids(change.gained))}</p>"] if change.gained else []
    parts += [f"<p class=muted>lost: {escape(_ids(change.broken))}</p>"] if change.broken else []
    if change.diff:
        parts.append(f"<details><summary>what it changed</summary><pre>{_diff(change.diff)}</pre></details>")
    return f'<article class="change {kind}">{"".join(parts)}</article>'


def _edit(op: str, text: str, why: str) -> str:
    reason = f" <span class=muted>{escape(why)}</span>" if why else ""
    return f"<li><b>{escape(op)}</b> <code>{escape(text)}</code>{reason}</li>"


def _diff(text: str) -> str:
    tags = {"+": "ins", "-": "del"}
    lines = text.splitlines()[2:]
    marked = (f"<{tags[x[0]]}>{escape(x)}</{tags[x[0]]}>" if x[:1] in tags else escape(x) for x in lines)
    return "\n".join(marked)


def _skill(lines: Sequence[Line]) -> str:
    rows: list[str] = []
    for line in lines:
        if line.text.strip():
            kind = "" if line.source.brought else ' class="seed"'
            rows.append(
                f'<tr{kind}><td class="n">{line.number}</td><td class="text">{escape(line.text)}</td>'
                f'<td class="from">{escape(origin(line.source))}</td></tr>'
            )
    head = "<tr><th class=n>line</th><th>text</th><th>came from</th></tr>"
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'


def origin(source: Source) -> str:
    """Where a line came from, in words."""
    if not source.brought:
        return source.at
    edit = f", edit {source.edit}" if source.edit else ""
    parts = [f"{source.at}{edit}"]
    parts += [f"argued for by {_ids(source.support)}"] if source.support else []
    parts += [f"then gained {_ids(source.gained)}"] if source.gained else []
    parts += [f"lost {_ids(source.broken)}"] if source.broken else []
    return "; ".join(parts)


def _spend(figures: Figures) -> str:
    rows: list[Sequence[str]] = []
    for stage, usage in (*figures.spend.items(), ("in all", sum(figures.spend.values(), Usage()))):
        cost = "not known" if usage.unpriced >= usage.calls else f"${usage.cost_usd:.4f}"
        if usage.calls:
            counts = (f"{n:,}" for n in (usage.calls, usage.prompt_tokens, usage.completion_tokens))
            rows.append((stage, *counts, cost))
    return _table(("stage", "calls", "tokens read", "tokens written", "cost"), rows, (1, 2, 3, 4))


def _checking(content: Content) -> str:
    facts = _table(("what", "value"), [*content.facts, ("left out or lost", content.missing)])
    digests = _table(("digest of", "value"), content.digests)
    return (
        "<p>Every number above is computed from the run's journal; <code>skillopt verify RUN</code> computes them "
        f"again, offline.</p>{facts}<details><summary>digests of skills, data, prompts and journal</summary>"
        f"{digests}</details><details><summary>the whole configuration</summary>"
        f"<pre>{escape(content.config)}</pre></details>"
    )


def _uncalibrated() -> str:
    return "<p>Not made. <code>skillopt calibrate RUN</code> scores the seed twice and says what is luck here.</p>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: tuple[int, ...] = ()) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        marked = (f"<{tag}{' class=n' if k in numbers else ''}>{escape(c)}</{tag}>" for k, c in enumerate(cells))
        return f"<tr>{''.join(marked)}</tr>"

    return f'<div class="wide"><table>{row("th", head)}{"".join(row("td", cells) for cells in rows)}</table></div>'


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _ids(items: Sequence[str]) -> str:
    names = [item if len(item) <= 14 else f"{item[:12]}…" for item in items[:_SHOWN]]
    rest = len(items) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")
