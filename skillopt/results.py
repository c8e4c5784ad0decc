"""What `skillopt.train` and `skillopt.evaluate` give back: frozen, and complete without the run's folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from skillopt.app import Outcome
from skillopt.evaluation.report import Metric, lift_on_test, scores
from skillopt.evaluation.statistics import Interval, mean_interval
from skillopt.journal.view import RunView
from skillopt.progress.summary import summary_text
from skillopt.skill.diff import unified
from skillopt.skill.document import Skill
from skillopt.types import Usage


@dataclass(frozen=True, slots=True)
class StepResult:
    """One training step: what the gate decided, at which validation score, and why."""

    step: int
    epoch: int
    action: str
    score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class TrainResult:
    """`before`, `after` and `lift` are test scores with 95% intervals; None when the test split was not opened."""

    skill: str
    seed: str
    before: Interval | None
    after: Interval | None
    lift: Interval | None
    metric: str
    validation_before: float | None
    validation_after: float | None
    history: tuple[StepResult, ...]
    usage: Usage
    run_dir: Path
    resumed: bool
    view: RunView = field(repr=False, compare=False)

    @property
    def diff(self) -> str:
        """What training changed, as a unified diff; "" when nothing."""
        return unified(self.seed, self.skill, old_name="seed skill", new_name="best skill")

    def save(self, path: str | Path) -> Path:
        """Write the best skill to a file."""
        Path(path).write_bytes(self.skill.encode())
        return Path(path)

    def __str__(self) -> str:
        return summary_text(self.view, self.run_dir)


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One item: `score` is None when there is no result, and `note` says why, or why it failed."""

    id: str
    score: float | None
    output: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class EvalResult:
    """`score` is None when no item has a result."""

    score: Interval | None
    metric: str
    items: tuple[ItemResult, ...]
    usage: Usage
    run_dir: Path
    view: RunView = field(repr=False, compare=False)

    def __str__(self) -> str:
        return summary_text(self.view, self.run_dir)


def train_result(outcome: Outcome, metric: Metric) -> TrainResult:
    view = outcome.view
    lift, state = lift_on_test(view, metric), view.state
    return TrainResult(
        skill=state.best.text if state else view.seed_skill,
        seed=view.seed_skill,
        before=lift.before if lift else None,
        after=lift.after if lift else None,
        lift=lift.change if lift else None,
        metric=metric,
        validation_before=view.baseline.objective if view.baseline else None,
        validation_after=state.best_score if state else None,
        history=_history(view),
        usage=sum(view.usage.values(), Usage()),
        run_dir=outcome.run_dir,
        resumed=outcome.resumed,
        view=view,
    )


def eval_result(outcome: Outcome, metric: Metric) -> EvalResult:
    view = outcome.view
    rows = view.rollouts("eval", "eval")
    found = scores(rows, Skill.parse(view.seed_skill).digest, metric)
    items = tuple(
        ItemResult(
            row.item,
            found.get(row.item_digest),
            row.answer,
            row.failure.message if row.failure else str(row.score.detail.get("fail_reason", "")) if row.score else "",
        )
        for row in rows
    )
    interval = mean_interval([*found.values()]) if found else None
    return EvalResult(interval, metric, items, sum(view.usage.values(), Usage()), outcome.run_dir, view)


def _history(view: RunView) -> tuple[StepResult, ...]:
    made = ((step, step.decision) for step in view.steps)
    return tuple(StepResult(s.step, s.epoch, d.action, d.objective, d.reason) for s, d in made if d is not None)
