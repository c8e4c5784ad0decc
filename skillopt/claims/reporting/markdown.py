"""The report as Markdown, for reviews and repositories. Text from models stands in code, so that it stays text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from skillopt.claims.reporting.content import Change, Content, points
from skillopt.claims.reporting.html import origin
from skillopt.types import Usage

MARK = "<!-- figures: "


def document(content: Content) -> str:
    """The whole report."""
    parts = (
        f"# {_plain(content.title)}",
        _plain(content.verdict),
        _section("Test lift", _lifts(content)),
        _section("Selection score of the best skill", _list(content.selection)),
        _section("Score curve on the selection items", _curve(content)),
        _section("What was tried", "\n\n".join(map(_change, content.changes))),
        _section("The skill and its evidence", _skill(content)),
        _section("Spend by stage", _spend(content)),
        _section("Calibration", _list(content.calibration) or "Not made (`skillopt calibrate RUN`)."),
        _section("To check it", _checking(content)),
        _data(content),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _data(content: Content) -> str:
    """Figures for `verify`; a comment's end inside them is spelled out."""
    text = json.dumps(content.figures.to_dict(), ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{MARK}{text} -->"


def _section(title: str, inside: str) -> str:
    return f"## {title}\n\n{inside}" if inside else ""


def _lifts(content: Content) -> str:
    rows = [
        (lift.kind, str(lift.change.n), points(lift.before), points(lift.after), points(lift.change, signed=True))
        for lift in content.figures.lifts
    ]
    return _table(("kind of task", "items", "seed", "best", "lift, item by item"), rows) if rows else "Not opened."


def _curve(content: Content) -> str:
    rows = [
        (
            p.at,
            p.action,
            points(p.score) if p.score else "not measured",
            "" if p.best is None else f"{100 * p.best:.1f}",
        )
        for p in content.figures.curve
    ]
    return _table(("place", "decision", "score", "best so far"), rows)


def _change(change: Change) -> str:
    lines = [f"### {_plain(change.at)}: {_plain(change.title)}", f"{_plain(change.measured)}. {_plain(change.reason)}"]
    lines += [f"- {_plain(op)}: {_code(text)}{f' ({_plain(why)})' if why else ''}" for op, text, why in change.edits]
    lines += [f"- gained: {_plain(', '.join(change.gained))}"] if change.gained else []
    lines += [f"- lost: {_plain(', '.join(change.broken))}"] if change.broken else []
    return "\n\n".join(lines[:2]) + ("\n\n" + "\n".join(lines[2:]) if lines[2:] else "")


def _skill(content: Content) -> str:
    rows = [(str(x.number), _code(x.text), origin(x.source)) for x in content.lines if x.text.strip()]
    return _table(("line", "text", "came from"), rows, raw=(1,))


def _spend(content: Content) -> str:
    rows: list[Sequence[str]] = []
    for stage, usage in (*content.figures.spend.items(), ("in all", sum(content.figures.spend.values(), Usage()))):
        cost = "not known" if usage.unpriced >= usage.calls else f"${usage.cost_usd:.4f}"
        rows.append((stage, str(usage.calls), str(usage.prompt_tokens), str(usage.completion_tokens), cost))
    return _table(("stage", "calls", "tokens read", "tokens written", "cost"), rows)


def _checking(content: Content) -> str:
    facts = _table(("what", "value"), [*content.facts, ("left out or lost", content.missing), *content.digests])
    return f"`skillopt verify RUN` computes every number again, offline.\n\n{facts}\n\n{_fenced(content.config)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], raw: tuple[int, ...] = ()) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = (cell.replace("|", "\\|") if k in raw else _plain(cell) for k, cell in enumerate(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _plain(text: str) -> str:
    """One line in which nothing is markup."""
    flat = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", flat)


def _code(text: str) -> str:
    """A code span that no backtick in the text can end."""
    flat = " ".join(text.split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}" if flat else ""


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}yaml\n{text.rstrip()}\n{fence}"
