"""The page of one run: where it stands, how the score moved, what it cost, and what went wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from skillopt.evaluation.statistics import wilson
from skillopt.journal.facts import Progress
from skillopt.journal.places import StepName
from skillopt.journal.view import RunView
from skillopt.progress.words import duration, setting, tokens
from skillopt.types import JSON
from skillopt_webui.charts import Curve, Point, score_chart
from skillopt_webui.pages.account import notes, spend, troubles
from skillopt_webui.pages.words import (
    SIGNS,
    STAGES,
    STEP_STAGES,
    action,
    ago,
    items_of,
    kind_of,
    number,
    place_name,
    signed,
    spent,
)
from skillopt_webui.reading.follower import Follower
from skillopt_webui.reading.ledger import Verdict
from skillopt_webui.reading.summary import Standing

STEPS_SHOWN = 40


def run_head(run_id: str, name: str, follower: Follower, how: Standing, now: float) -> dict[str, JSON]:
    """What every page of a run begins with."""
    view = follower.view
    return {
        "run_id": run_id,
        "run_name": name,
        "kind": view.kind,
        "benchmark": setting(view, "env", "name") or "",
        "target": setting(view, "model", "target") or "",
        "optimizer": setting(view, "model", "optimizer") or "",
        "sign": SIGNS[how.word],
        "word": how.word,
        "reason": how.reason,
        "live": how.live,
        "pid": how.pid,
        "moved": ago(now - follower.ledger.last_ts) if follower.ledger.last_ts else "",
        "reading": None if not follower.behind else round(follower.share * 100),
        "events": view.events,
        "started": view.started is not None,
    }


def run_page(
    follower: Follower, how: Standing, now: float, *, page: int, caps: Mapping[str, JSON], run_id: str
) -> dict[str, JSON]:
    view, ledger = follower.view, follower.ledger
    curve = curve_of("this run", ledger.verdicts, f"/runs/{quote(run_id)}")
    steps = [v for v in ledger.verdicts if v.epoch]
    pages = max(1, -(-len(steps) // STEPS_SHOWN))
    page = min(max(1, page), pages)
    newest = list(reversed(steps))[(page - 1) * STEPS_SHOWN : page * STEPS_SHOWN]
    return {
        "strip": _strip(view, how, now),
        "tiles": _tiles(follower, how, now),
        "chart": score_chart([curve], _total(view, ledger.verdicts), _caption(ledger.verdicts))
        if curve.points
        else None,
        "steps": [_step_row(v) for v in newest],
        "page": page,
        "pages": pages,
        "spend": spend(follower, caps),
        "troubles": troubles(follower),
        "notes": notes(view),
        "recent": [(ago(now - m.ts), m.text) for m in reversed(ledger.recent)][:14],
        "others": [_step_row(v) for v in ledger.verdicts if not v.epoch],
        "settings": _settings(view),
        "resumable": view.kind == "train" and how.word in ("stopped", "interrupted", "failed"),
        "caps": {key: caps.get(key) or setting(view, "budget", key) for key in ("max_cost_usd", "max_tokens")},
    }


def curve_of(name: str, verdicts: Sequence[Verdict], base: str) -> Curve:
    """Every measured candidate, and the best score so far."""
    points: list[Point] = []
    best: list[tuple[float, float]] = []
    for verdict in verdicts:
        decision = verdict.decision
        if verdict.best is not None:
            best.append((verdict.number, verdict.best))
        value, tally = decision.objective, decision.tally
        if value is None or decision.action == "final":
            continue
        sure = wilson(value * tally.n, tally.n) if tally and tally.n and 0 <= value <= 1 else None
        within = f", 95% interval {sure.low:.2f} to {sure.high:.2f}" if sure else ""
        place = place_name(decision.at, verdict.number if verdict.epoch else None)
        label = f"{place}: {value:.2f}{within}, {action(decision)[1]}"
        href = f"{base}/steps/{quote(decision.at, safe='')}" if base and verdict.epoch else ""
        low, high = (sure.low, sure.high) if sure else (None, None)
        points.append(Point(verdict.number, value, low, high, kind_of(decision), label, href))
    return Curve(name, tuple(points), tuple(best))


def _caption(verdicts: Sequence[Verdict]) -> str:
    kinds = Counter(kind_of(v.decision) for v in verdicts if v.epoch)
    best = next((v.best for v in reversed(verdicts) if v.best is not None), None)
    return f"Validation score by step: best {number(best)}, {kinds['accepted']} accepted, {kinds['rejected']} rejected"


def _total(view: RunView, verdicts: Sequence[Verdict]) -> int:
    return view.plan.get("total_steps", 0) or max((v.number for v in verdicts), default=1)


def _strip(view: RunView, how: Standing, now: float) -> dict[str, JSON]:
    """The whole run as three parts, and below it the stages of where it is now."""
    total, done, at = view.plan.get("total_steps", 0), view.last_step, view.progress
    tested = view.finished is not None
    if view.kind != "train":
        parts = [_part("Evaluate", at.done if at else 0, at.of if at else 0, done=tested, now=not tested)]
        return {"parts": parts, "place": "", "stages": [], "eta": _eta(view, at, how, now)}
    final = at is not None and at.at in ("test", "final")
    training = view.baseline is not None and not final and not tested
    parts = [
        _part("Baseline", 0, 0, done=view.baseline is not None, now=view.baseline is None and at is not None),
        _part("Training steps", done, total, done=final or tested, now=training),
        _part("Test", 0, 0, done=tested, now=final and not tested),
    ]
    return {"parts": parts, "eta": _eta(view, at, how, now), **_stages(view, at, how)}


def _part(name: str, count: int, of: int, *, done: bool, now: bool) -> dict[str, JSON]:
    state = "done" if done else "now" if now else "todo"
    return {
        "name": name,
        "done": count,
        "of": of,
        "state": state,
        "sign": {"done": "✓", "now": "●", "todo": "○"}[state],
    }


def _stages(view: RunView, at: Progress | None, how: Standing) -> dict[str, JSON]:
    if at is None or view.finished is not None:
        return {"place": "", "stages": []}
    name = StepName.parse(at.at)
    open_now = {p.stage: p for p in view.stages if p.at == at.at or (name and p.at.startswith(name.at))}
    if name is None:
        row = open_now.get(at.stage, at)
        return {"place": place_name(at.at), "stages": [_stage(at.stage, row, begun=True, is_open=True, live=how.live)]}
    step = view.step(at.at)
    begun = set(step.timings) if step else set[str]()
    rows = [_stage(s, open_now.get(s), begun=s in begun, is_open=s in open_now, live=how.live) for s in STEP_STAGES]
    return {"place": f"step {step.step if step else name.step}", "stages": rows}


def _stage(stage: str, row: Progress | None, *, begun: bool, is_open: bool, live: bool) -> dict[str, JSON]:
    working = is_open and row is not None and (row.of == 0 or row.done < row.of)
    state = ("now" if live else "halted") if working else "done" if begun else "todo"
    sign = {"done": "✓", "now": "●", "halted": "■", "todo": "○"}[state]
    counted = row is not None and row.of > 0 and working
    return {
        "name": STAGES.get(stage, stage),
        "state": state,
        "sign": sign,
        "done": row.done if row and counted else 0,
        "of": row.of if row and counted else 0,
    }


def _eta(view: RunView, at: Progress | None, how: Standing, now: float) -> str:
    if not how.live or at is None:
        return ""
    parts: list[str] = []
    if at.of and 0 < at.done < at.of and now > at.started:
        parts.append(f"this stage about {duration((now - at.started) / at.done * (at.of - at.done))}")
    total, done = view.plan.get("total_steps", 0), view.last_step
    if total and 0 < done < total:
        parts.append(f"all steps about {duration(view.wall_time / done * (total - done))}")
    return "left: " + ", ".join(parts) if parts else ""


def _tiles(follower: Follower, how: Standing, now: float) -> list[dict[str, JSON]]:
    view = follower.view
    tiles: list[dict[str, JSON]] = []
    if view.kind == "train":
        start, best = view.baseline.objective if view.baseline else None, view.state.best_score if view.state else None
        gain = best - start if best is not None and start is not None else None
        tiles.append(
            _tile(
                "Validation",
                f"{number(start)} → {number(best)}",
                signed(gain) if gain is not None else "not measured yet",
            )
        )
    tiles += _tested(follower)
    if view.kind == "train":
        kinds = Counter(kind_of(v.decision) for v in follower.ledger.verdicts if v.epoch)
        told = ", ".join(f"{kinds[k]} {k}" for k in ("accepted", "rejected", "skipped") if kinds[k])
        tiles.append(
            _tile("Steps", f"{view.last_step} of {view.plan.get('total_steps', '?')}", told or "none decided yet")
        )
    account = follower.ledger.total()
    tiles.append(_tile("Spend", spent(account), f"{tokens(account.tokens)} tokens, {account.calls} calls"))
    sessions = len(view.sessions)
    seconds = view.wall_time + (max(0.0, now - follower.ledger.last_ts) if how.word == "running" else 0.0)
    tiles.append(_tile("Time", duration(seconds), f"{sessions} session{'' if sessions == 1 else 's'}"))
    return tiles


def _tested(follower: Follower) -> list[dict[str, JSON]]:
    done, lift = follower.view.finished, follower.lift
    if done is None or done.best_test is None:
        return []
    if follower.view.kind != "train" or done.baseline_test is None:
        return [_tile("Score", number(done.best_test.hard), items_of(done.best_test))]
    sure = (
        f"{signed(lift.change.value)} ({signed(lift.change.low)} to {signed(lift.change.high)})"
        if lift
        else items_of(done.best_test)
    )
    return [_tile("Test", f"{number(done.baseline_test.hard)} → {number(done.best_test.hard)}", sure)]


def _tile(label: str, value: str, note: str) -> dict[str, JSON]:
    return {"label": label, "value": value, "note": note}


def _step_row(verdict: Verdict) -> dict[str, JSON]:
    decision = verdict.decision
    sign, words = action(decision)
    return {
        "at": decision.at,
        "number": verdict.number,
        "epoch": verdict.epoch,
        "place": place_name(decision.at, verdict.number if verdict.epoch else None),
        "sign": sign,
        "words": words,
        "kind": kind_of(decision),
        "score": number(decision.objective),
        "bar": number(decision.bar),
        "edits": len(decision.patch.edits),
        "gained": len(decision.gained),
        "broken": len(decision.broken),
        "reason": decision.reason,
    }


def _settings(view: RunView) -> list[dict[str, JSON]]:
    """The resolved configuration; it never holds a credential."""
    resolved = view.config.get("resolved")
    if not isinstance(resolved, Mapping):
        return []
    sections: list[dict[str, JSON]] = []
    for section, values in resolved.items():
        if isinstance(values, Mapping):
            rows = [(str(k), v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)) for k, v in values.items()]
            sections.append({"name": str(section), "rows": [(k, v) for k, v in rows if v not in ("", "null")]})
    return sections
