"""The end of a run on one screen: what changed, by how much, at what cost, and where the result is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType

from rich.text import Text

from skillopt.evaluation.report import lift_on_test
from skillopt.journal.view import RunView
from skillopt.progress.words import apart, count, duration, score, setting, tokens
from skillopt.skill.diff import unified
from skillopt.types import Tally, Usage

DIFF_LINES = 80
_COLOURS = MappingProxyType({"+": "green", "-": "red", "@": "cyan"})

Row = tuple[str, str]


def summary(view: RunView, run_dir: Path) -> Text:
    """The summary as one coloured text; print it with `soft_wrap`, so that paths stay whole."""
    rows = tuple(_rows(view, run_dir))
    width = max(len(label) for label, _ in rows)
    lines = [Text.assemble((f"{label:{width}}  ", "dim"), value) for label, value in rows]
    if view.kind == "train":
        lines += [Text(), *_diff(view)]
    return Text("\n").join(lines)


def summary_text(view: RunView, run_dir: Path) -> str:
    """The same without colours."""
    return summary(view, run_dir).plain + "\n"


def _rows(view: RunView, run_dir: Path) -> Iterable[Row]:
    ending = view.status.name + (f": {view.status.reason}" if view.status.reason else "")
    yield "run", ending
    yield from _scores(view) if view.kind == "train" else _evaluated(view)
    yield from _losses(view)
    yield from _spent(view)
    yield "time", duration(view.wall_time)
    yield "folder", str(run_dir)
    if view.kind == "train":
        yield "skill", str(run_dir / "best_skill.md")


def _scores(view: RunView) -> Iterable[Row]:
    start, state = view.baseline, view.state
    if start is not None and state is not None:
        n = f" ({count(start.tally.n, 'item')})" if start.tally else ""
        yield "validation", _change(start.objective, state.best_score) + n
    done = view.finished
    if done is not None and done.baseline_test and done.best_test:
        yield "test", _tested(done.baseline_test, done.best_test)
        yield from _lift(view)
        same = state is None or state.best.digest == state.current.digest
        if done.final_test and not same:
            yield "test, final", f"hard {score(done.final_test.hard)}, soft {score(done.final_test.soft)}"
    yield "steps", _steps(view)


def _evaluated(view: RunView) -> Iterable[Row]:
    tally = view.finished.best_test if view.finished else None
    if tally is not None:
        yield "score", f"hard {score(tally.hard)}, soft {score(tally.soft)} ({count(tally.n, 'item')})"


def _tested(seed: Tally, best: Tally) -> str:
    hard, soft = _change(seed.hard, best.hard), _change(seed.soft, best.soft)
    sizes = count(best.n, "item") if seed.n == best.n else f"{seed.n} and {best.n} items"
    return f"hard {hard}, soft {soft} ({sizes})"


def _lift(view: RunView) -> Iterable[Row]:
    """The difference with its interval, in the score that the gate compared."""
    metric = "soft" if setting(view, "evaluation", "gate_metric") == "soft" else "hard"
    lift = lift_on_test(view, metric)
    if lift is not None:
        change = lift.change
        sure = f"{change.level:.0%} interval {change.low:+.2f} to {change.high:+.2f}, {count(change.n, 'paired item')}"
        yield "test lift", f"{metric} {change.value:+.2f} ({sure})"


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return f"{score(before)} → {score(after)}"
    return " → ".join(apart(before, after))


def _steps(view: RunView) -> str:
    kinds = Counter(_kind(step.decision.action) for step in view.steps if step.decision)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in ("accepted", "rejected", "skipped") if kinds[kind]) or "none"


def _kind(action: str) -> str:
    if action.startswith("skip"):
        return "skipped"
    return "rejected" if action == "reject" else "accepted"


def _losses(view: RunView) -> Iterable[Row]:
    """Nothing is said of what did not happen."""
    if view.missing:
        kinds = Counter(m.failure.kind for m in view.missing)
        listed = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())
        yield "missing", f"{count(len(view.missing), 'attempt')} without a result ({listed})"
    if view.lost:
        yield "lost", f"{count(len(view.lost), 'reflection')} could not be used"
    if view.fallbacks:
        yield (
            "fallbacks",
            f"{count(len(view.fallbacks), 'merge or ranking', 'merges or rankings')} done without the model",
        )


def _spent(view: RunView) -> Iterable[Row]:
    roles: dict[str, Usage] = {}
    for stage, usage in view.usage.items():
        role = "target" if stage == "rollout" else "optimizer"
        roles[role] = roles.get(role, Usage()) + usage
    for role, usage in sorted(roles.items(), reverse=True):
        unreported = f", {usage.unreported} without a count" if usage.unreported else ""
        said = f"{tokens(usage.prompt_tokens)} tokens in, {tokens(usage.completion_tokens)} out"
        yield role, f"{said} ({count(usage.calls, 'call')}{unreported}), {_cost(usage)}"


def _cost(usage: Usage) -> str:
    """Unknown is not zero: calls without a price are said, not summed."""
    if usage.calls and usage.unpriced >= usage.calls:
        return "price not known"
    rest = f" and {count(usage.unpriced, 'call')} without a price" if usage.unpriced else ""
    return f"${usage.cost_usd:.4f}{rest}"


def _diff(view: RunView) -> tuple[Text, ...]:
    best = view.state.best.text if view.state else view.seed_skill
    lines = unified(view.seed_skill, best, old_name="seed skill", new_name="best skill").splitlines()
    if not lines:
        return (Text("The best skill is the seed skill."),)
    shown = [Text(line, style=_COLOURS.get(line[:1], "")) for line in lines[:DIFF_LINES]]
    rest = len(lines) - len(shown)
    return (*shown, Text(f"... {count(rest, 'more line')}")) if rest else tuple(shown)
