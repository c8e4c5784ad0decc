"""Charts as SVG, drawn here: they need no script, follow the page's colours, and say everything in words as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 760, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 14, 30
_MANY = 60
"""Above so many points whiskers would be a wall; the band says the same."""


@dataclass(frozen=True, slots=True)
class Point:
    """A measured candidate. `low` and `high` are its interval; `kind` chooses the mark."""

    x: float
    y: float
    low: float | None
    high: float | None
    kind: str
    label: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """One run on a chart: its points, and the best score so far as a line of steps."""

    name: str
    points: tuple[Point, ...]
    best: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class _Scale:
    x_max: float
    y_min: float
    y_max: float

    def x(self, value: float) -> float:
        return round(_LEFT + 10 + value / max(self.x_max, 1) * (WIDTH - _LEFT - _RIGHT - 20), 1)

    def y(self, value: float) -> float:
        share = (value - self.y_min) / (self.y_max - self.y_min)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)


def score_chart(curves: Sequence[Curve], steps: int, caption: str) -> Markup:
    """Scores over steps. One curve shows all its marks and intervals, several are overlaid in their own dashes."""
    scale = _scale(curves, steps)
    parts = [_frame(scale, steps)]
    for index, curve in enumerate(curves):
        parts.append(_curve(curve, scale, index if len(curves) > 1 else 0, alone=len(curves) == 1))
    head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, caption)
    return head + Markup("").join(parts) + Markup("</svg>")


def sparkline(values: Sequence[float]) -> Markup:
    """A curve the size of a word."""
    if len(values) < 2:
        return Markup("")
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = 86 / (len(values) - 1)
    places = " ".join(f"{2 + i * step:.1f},{20 - (v - low) / span * 16:.1f}" for i, v in enumerate(values))
    label = f"best validation score from {values[0]:.2f} to {values[-1]:.2f}"
    return Markup(
        '<svg class="spark" viewBox="0 0 90 24" role="img" aria-label="{}"><polyline points="{}"/></svg>'
    ).format(label, places)


def share_bar(parts: Sequence[tuple[str, float]], total: float) -> Markup:
    """Parts of a whole side by side, each with its own pattern of grey and its name as a tooltip."""
    x, drawn = 0.0, list[Markup]()
    for index, (label, value) in enumerate(parts):
        width = round(100 * value / total, 2) if total else 0.0
        rect = Markup('<rect class="part p{}" x="{}" y="0" width="{}" height="8"><title>{}</title></rect>')
        drawn.append(rect.format(index % 6, round(x, 2), width, label))
        x += width
    head = Markup('<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{}">')
    return head.format(", ".join(label for label, _ in parts)) + Markup("").join(drawn) + Markup("</svg>")


def _scale(curves: Sequence[Curve], steps: int) -> _Scale:
    points = [p for c in curves for p in c.points]
    lows = [p.low if p.low is not None else p.y for p in points]
    highs = [p.high if p.high is not None else p.y for p in points]
    low, high = min(lows, default=0.0), max(highs, default=1.0)
    x_max = max([steps, *(p.x for p in points)])
    grain = 0.2 if high - low > 0.45 else 0.1
    y_min = max(0.0, math.floor((low - 0.02) / grain) * grain)
    y_max = math.ceil((min(1.0, high + 0.02) if high <= 1 else high) / grain - 1e-9) * grain
    return _Scale(float(x_max), y_min, y_max if y_max > y_min else y_min + grain)


def _frame(scale: _Scale, steps: int) -> Markup:
    parts: list[Markup] = []
    lines = round((scale.y_max - scale.y_min) * 10)
    every = 1 if lines <= 5 else 2
    for k in range(0, lines + 1, every):
        value = scale.y_min + k / 10
        y = scale.y(value)
        parts.append(Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_LEFT, WIDTH - _RIGHT, y, y))
        parts.append(
            Markup('<text class="tick" x="{}" y="{}" text-anchor="end">{:.1f}</text>').format(_LEFT - 8, y + 4, value)
        )
    for step in _ticks(steps):
        text = Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>')
        parts.append(text.format(scale.x(step), HEIGHT - 10, "start" if step == 0 else step))
    return Markup("").join(parts)


def _ticks(steps: int) -> tuple[int, ...]:
    every = max(1, -(-steps // 10))
    return tuple(range(0, steps + 1, every))


def _curve(curve: Curve, scale: _Scale, index: int, *, alone: bool) -> Markup:
    parts: list[Markup] = []
    if curve.best:
        line = Markup('<polyline class="best c{}" points="{}"><title>{}</title></polyline>')
        parts.append(line.format(index, _steps(curve.best, scale), f"{curve.name}: best so far"))
    for point in curve.points:
        if alone and point.low is not None and point.high is not None and len(curve.points) <= _MANY:
            x = scale.x(point.x)
            whisker = Markup('<line class="whisker" x1="{}" x2="{}" y1="{}" y2="{}"/>')
            parts.append(whisker.format(x, x, scale.y(point.low), scale.y(point.high)))
    parts.extend(_mark(point, scale, index, alone=alone) for point in curve.points)
    return Markup("").join(parts)


def _steps(best: Sequence[tuple[float, float]], scale: _Scale) -> str:
    places: list[str] = []
    height = None
    for x, y in best:
        if height is not None:
            places.append(f"{scale.x(x)},{height}")
        height = scale.y(y)
        places.append(f"{scale.x(x)},{height}")
    return " ".join(places)


def _mark(point: Point, scale: _Scale, index: int, *, alone: bool) -> Markup:
    x, y = scale.x(point.x), scale.y(point.y)
    if point.kind == "rejected":
        shape = Markup('<path class="mark rejected" d="M{} {}l8 8m0 -8l-8 8"/>').format(x - 4, y - 4)
    elif point.kind == "measured":
        shape = Markup('<circle class="mark measured" cx="{}" cy="{}" r="4.5"/>').format(x, y)
    else:
        shape = Markup('<path class="mark accepted c{}" d="M{} {}l6 10h-12z"/>').format(index, x, y - 6)
    area = Markup('<circle class="hit" cx="{}" cy="{}" r="12"/>').format(x, y)
    inner = Markup("<g>{}{}<title>{}</title></g>").format(shape, area, point.label)
    return Markup('<a href="{}" aria-label="{}">{}</a>').format(point.href, point.label, inner) if point.href else inner


def legend(curves: Sequence[Curve]) -> Markup:
    """Which dashes belong to which run."""
    row = Markup(
        '<li><svg class="key" viewBox="0 0 34 10" aria-hidden="true">'
        '<line class="best c{}" x1="1" x2="33" y1="5" y2="5"/></svg>{}</li>'
    )
    return (
        Markup('<ul class="legend">')
        + Markup("").join(row.format(i, escape(c.name)) for i, c in enumerate(curves))
        + Markup("</ul>")
    )
