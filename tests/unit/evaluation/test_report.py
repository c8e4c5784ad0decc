"""The lift on the test split, from the journal's own rollouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.evaluation.report import lift_on_test
from skillopt.journal.events import Body, Decided, Event, Finished, RolloutDone, RunStarted
from skillopt.journal.view import RunView
from skillopt.progress import summary_text
from skillopt.types import Decision, Failure, Rollout, Score, Tally, digest

SEED, BETTER = "# Skill\n", "# Skill\n\n- Be brief.\n"


def rollout(item: int, skill: str, hard: float | None, soft: float = 0.5) -> RolloutDone:
    score = None if hard is None else Score(hard, soft)
    failure = Failure("timeout", "late") if hard is None else None
    row = Rollout(str(item), f"d{item}", digest(skill), "test", "own", score, failure)
    return RolloutDone(at="test", stage="test", rollout=row)


def decided(at: str, action: str, text: str, score: float) -> Decided:
    return Decided(decision=Decision(at, action, text, "p", "o", objective=score, tally=Tally(9, score, score)))  # type: ignore[arg-type]


def view_of(*rows: RolloutDone, best: str = BETTER, metric: str = "hard") -> RunView:
    config = {"resolved": {"env": {"name": "own"}, "evaluation": {"gate_metric": metric}}}
    bodies: list[Body] = [
        RunStarted(skillopt="0", config=config, prompts={}, data={}, seed_skill=SEED),
        decided("baseline", "baseline", SEED, 0.2),
        *([decided("e01s01", "accept_new_best", best, 0.6)] if best != SEED else []),
        *rows,
        Finished(baseline_test=Tally(4, 0.25, 0.5), best_test=Tally(4, 0.75, 0.5)),
    ]
    view = RunView()
    for seq, body in enumerate(bodies):
        view.apply(Event(seq=seq, ts=1000.0 + seq, key=str(seq), body=body))  # type: ignore[arg-type]
    return view


def test_the_difference_is_taken_over_items_with_a_result_on_both_sides() -> None:
    before = [rollout(i, SEED, hard) for i, hard in enumerate((1.0, 0.0, 0.0, None))]
    after = [rollout(i, BETTER, hard) for i, hard in enumerate((1.0, 1.0, None, 1.0))]
    view = view_of(*before, *after)
    lift = lift_on_test(view)
    assert lift is not None
    assert (lift.before.n, lift.after.n, lift.change.n) == (3, 3, 2)
    assert lift.change.value == pytest.approx(0.5) and lift.change.low < 0.5 < lift.change.high
    assert "test lift   hard +0.50 (95% interval -0.50 to +0.75, 2 paired items)" in summary_text(view, Path("x"))


def test_partial_credit_where_the_gate_counted_it() -> None:
    rows = [rollout(i, SEED, 0.0, 0.25) for i in range(4)] + [rollout(i, BETTER, 0.0, 0.75) for i in range(4)]
    assert "test lift   soft +0.50" in summary_text(view_of(*rows, metric="soft"), Path("x"))


def test_the_seed_itself_has_no_lift_and_no_doubt() -> None:
    lift = lift_on_test(view_of(*(rollout(i, SEED, 1.0) for i in range(4)), best=SEED))
    assert lift is not None and (lift.change.low, lift.change.value, lift.change.high) == (0.0, 0.0, 0.0)


def test_no_test_no_lift() -> None:
    assert lift_on_test(view_of()) is None
    assert lift_on_test(RunView()) is None
