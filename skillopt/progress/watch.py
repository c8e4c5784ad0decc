"""The two displays of a run under way: plain lines for logs and pipes, a live panel for terminals."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import MappingProxyType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from skillopt.engine.session import Watcher
from skillopt.journal.events import Event
from skillopt.journal.places import StepName
from skillopt.journal.view import Progress, RunView
from skillopt.model.meter import Stats
from skillopt.progress.lines import Lines, Milestones
from skillopt.progress.words import count, duration, score, setting, tokens

__all__ = ["LiveDisplay", "PlainLines", "Watcher", "pick_watcher"]

_STAGES = MappingProxyType({
    "rollout": "Rollout", "reflect": "Reflect", "aggregate": "Merge", "select": "Select", "update": "Update",
    "evaluate": "Validate", "compare": "Compare", "slow_update": "Slow update", "meta_skill": "Meta skill",
    "test": "Test", "eval": "Evaluate",
})  # fmt: skip


class PlainLines:
    """One line per milestone."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._milestones = Milestones()

    def start(self, view: RunView, target: Stats, optimizer: Stats) -> None:
        self._say(self._milestones.begin(view))

    def event(self, view: RunView, event: Event) -> None:
        self._say(self._milestones.of(view, event))

    def stop(self) -> None:
        pass

    def _say(self, lines: Lines) -> None:
        for line in lines:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _Pace:
    """A stage as this process first met it, so that a resumed stage is timed from its resumption."""

    at: str
    stage: str
    done: int
    seen: float

    def left(self, now: Progress, clock: float) -> float | None:
        gained = now.done - self.done
        return (clock - self.seen) / gained * (now.of - now.done) if gained > 0 and now.of else None


class LiveDisplay:
    """Milestone lines, and below them a panel of what goes on now.

    The panel is drawn from another thread, so it reads only frozen values and plain numbers.
    """

    def __init__(self, console: Console) -> None:
        self._lines = PlainLines(console)
        self._console = console
        self._live: Live | None = None
        self._pace: _Pace | None = None

    def start(self, view: RunView, target: Stats, optimizer: Stats) -> None:
        self._lines.start(view, target, optimizer)
        began = time.monotonic()

        def panel() -> RenderableType:
            return self._panel(view, target, optimizer, time.monotonic() - began)

        self._live = Live(console=self._console, get_renderable=panel, refresh_per_second=4, transient=True)
        self._live.start()

    def event(self, view: RunView, event: Event) -> None:
        self._lines.event(view, event)
        now, pace = view.progress, self._pace
        if now is not None and (pace is None or (pace.at, pace.stage) != (now.at, now.stage)):
            self._pace = _Pace(now.at, now.stage, now.done, time.monotonic())

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _panel(self, view: RunView, target: Stats, optimizer: Stats, elapsed: float) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        if (now := view.progress) is not None:
            grid.add_row(_STAGES.get(now.stage, now.stage), _bar(now, self._pace))
        if view.kind == "train":
            grid.add_row("val", _scores(view))
        grid.add_row("target", _traffic(target))
        grid.add_row("optimizer", _traffic(optimizer))
        return Group(Rule(_title(view, elapsed), style="dim", align="left"), grid)


def pick_watcher(console: Console, plain: bool) -> Watcher:
    """A live display where there is a terminal to draw on."""
    live = console.is_terminal and not console.is_dumb_terminal and not plain
    return LiveDisplay(console) if live else PlainLines(console)


def _title(view: RunView, elapsed: float) -> Text:
    parts = [str(setting(view, "env", "name") or "skillopt")]
    name = StepName.parse(view.progress.at) if view.progress else None
    if name is not None:
        number = (name.epoch - 1) * view.plan.get("steps_per_epoch", 0) + name.step
        parts.append(f"step {number}/{view.plan.get('total_steps', '?')}")
        parts.append(f"epoch {name.epoch}/{view.plan.get('epochs', '?')}")
    return Text(" · ".join([*parts, duration(elapsed)]))


def _bar(now: Progress, pace: _Pace | None) -> RenderableType:
    if not now.of:
        return Text(count(now.done, "result"))
    row = Table.grid(padding=(0, 2))
    left = pace.left(now, time.monotonic()) if pace else None
    eta = f"{duration(left)} left" if left is not None and now.done < now.of else ""
    row.add_row(ProgressBar(total=now.of, completed=now.done, width=30), f"{now.done}/{now.of}", eta)
    return row


def _scores(view: RunView) -> Text:
    state = view.state
    if state is None or state.bar is None:
        return Text("not measured yet")
    current = "current not measured" if state.score is None else f"current {score(state.score)}"
    start = view.baseline.objective if view.baseline else None
    return Text(f"{current} · best {score(state.best_score)} · start {score(start)}")


def _traffic(stats: Stats) -> Text:
    used = stats.total
    parts = [
        f"{stats.in_flight} in flight",
        count(used.calls, "call"),
        f"{tokens(used.prompt_tokens)} in, {tokens(used.completion_tokens)} out",
    ]
    if stats.retries:
        parts.append(count(stats.retries, "retry", "retries"))
    parts += [f"{n}×{kind}" for kind, n in sorted(dict(stats.errors).items())]
    return Text(" · ".join(parts))
