"""Charts as inline SVG: no script, no outside asset, colours from the page's own variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from skillopt.claims.figures import Lift, Point

_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 16, 14, 40
_ROW = 26
_LETTER = 6.5

_Place = Callable[[float], float]


def score_curve(points: Sequence[Point]) -> str:
    """Every measured candidate with its interval, and the best score so far as a stepped line."""
    shown = [point for point in points if point.score is not None]
    if not shown:
        return ""
    ends = [end for p in shown if p.score for end in (p.score.low, p.score.high)]
    low, high = max(0.0, math.floor(10 * min(ends)) / 10), min(1.0, math.ceil(10 * max(ends)) / 10)
    step = (_WIDTH - _LEFT - _RIGHT) / len(shown)

    def x(place: int) -> float:
        return _LEFT + step * (place + 0.5)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    marks = [_axis(low, high, y)]
    path: list[str] = []
    for place, point in enumerate(shown):
        if point.best is not None:
            at = y(min(high, max(low, point.best)))
            path.append(f"{'L' if path else 'M'}{x(place) - step / 2:.1f},{at:.1f} H{x(place) + step / 2:.1f}")
        marks.append(_mark(x(place), y, point))
    marks.insert(1, f'<path class="best" d="{" ".join(path)}"/>')
    marks += _labels([(x(place), "seed" if p.action == "baseline" else p.at) for place, p in enumerate(shown)])
    label = f"Selection score of {len(shown)} measured documents with 95% intervals"
    return _svg(_WIDTH, _HEIGHT, label, marks)


def _labels(places: Sequence[tuple[float, str]]) -> list[str]:
    """The names of steps, as many as fit; further candidates of a step are named by their tooltip alone."""
    marks: list[str] = []
    free = 0.0
    for at, name in places:
        half = _LETTER * len(name) / 2
        if "/candidate" not in name and at - half > free:
            free = at + half + _LETTER
            said = escape(name)
            marks.append(f'<text class="tick" x="{at:.1f}" y="{_HEIGHT - 22}" text-anchor="middle">{said}</text>')
    return marks


def forest(lifts: Sequence[Lift]) -> str:
    """The lift overall and by kind, each with its interval, against no change."""
    if not lifts:
        return ""
    height = _TOP + _ROW * len(lifts) + 30
    ends = [end for lift in lifts for end in (lift.change.low, lift.change.high, 0.0)]
    low, high = min(ends) - 0.03, max(ends) + 0.03
    name_width = 170

    def x(value: float) -> float:
        return name_width + (value - low) / (high - low) * (_WIDTH - name_width - 120)

    zero = f'<line class="zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="4" y2="{height - 26}"/>'
    marks = [zero, f'<text class="tick" x="{x(0):.1f}" y="{height - 8}" text-anchor="middle">no change</text>']
    for place, lift in enumerate(lifts):
        at, change = _TOP + _ROW * (place + 0.5), lift.change
        name = lift.kind if len(lift.kind) <= 22 else f"{lift.kind[:21]}…"
        marks.append(f'<text class="name" x="0" y="{at + 4:.1f}">{escape(name)} ({change.n})</text>')
        marks.append(f'<line class="bar" x1="{x(change.low):.1f}" x2="{x(change.high):.1f}" y1="{at}" y2="{at}"/>')
        marks.append(f'<circle class="dot" cx="{x(change.value):.1f}" cy="{at}" r="5"/>')
        said = f"{100 * change.value:+.1f} points"
        marks.append(f'<text class="tick" x="{_WIDTH}" y="{at + 4:.1f}" text-anchor="end">{said}</text>')
    return _svg(_WIDTH, height, "Test lift with 95% intervals, overall and by kind of task", marks)


def _axis(low: float, high: float, y: _Place) -> str:
    lines: list[str] = []
    tenths = round(10 * (high - low))
    every = 1 if tenths <= 5 else 2
    for k in range(0, tenths + 1, every):
        value = low + k / 10
        at = y(value)
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        lines.append(f'<text class="tick" x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{100 * value:.0f}</text>')
    return "".join(lines)


def _mark(x: float, y: _Place, point: Point) -> str:
    score = point.score
    assert score is not None
    kind = "start" if point.action == "baseline" else "kept" if point.action != "reject" else "left"
    name = "seed" if point.action == "baseline" else point.at
    said = f"{name}: {100 * score.value:.1f} ({100 * score.low:.1f} to {100 * score.high:.1f}), {point.action}"
    return (
        f'<g class="{kind}"><title>{escape(said)}</title>'
        f'<line class="bar" x1="{x:.1f}" x2="{x:.1f}" y1="{y(score.low):.1f}" y2="{y(score.high):.1f}"/>'
        f'<circle class="dot" cx="{x:.1f}" cy="{y(score.value):.1f}" r="5"/></g>'
    )


def _svg(width: float, height: float, label: str, marks: Sequence[str]) -> str:
    inside = "".join(marks)
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">{inside}</svg>'
