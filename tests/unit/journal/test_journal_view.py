from __future__ import annotations

import pytest

from skillopt.journal.events import Event, RunStopped
from skillopt.journal.places import StepName
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill
from skillopt.types import Usage


def upto(events: list[Event], key: str) -> RunView:
    """The view just after the event with this key."""
    return RunView.of(events[: [e.key for e in events].index(key) + 1])


def test_the_view_knows_the_run(events: list[Event]) -> None:
    view = RunView.of(events)
    assert (view.kind, view.seed_skill, view.plan["total_steps"]) == ("train", "# Seed\n", 2)
    assert view.status.name == "finished"
    assert view.baseline and view.baseline.objective == 0.5
    assert view.finished and view.finished.best_test and view.finished.best_test.hard == 1.0
    assert view.slow_updates[2].content == "Keep answers short."
    assert view.meta_skills[2].content == "Small edits help."
    assert view.state and view.state.meta_skill == "Small edits help."


def test_the_state_is_that_of_the_decisions(events: list[Event]) -> None:
    state = RunView.of(events).state
    assert state is not None
    assert state.best.text == "# Seed\n\nRead the whole question — twice.\n"
    assert state.current.region("slow_update") == "Keep answers short."
    assert (state.best_score, state.best_step, state.score) == (1.0, 1, None)


def test_time_between_sessions_does_not_count(events: list[Event]) -> None:
    view = RunView.of(events)
    assert len(view.sessions) == 2
    assert view.wall_time == len(events) - 2
    second = view.step("e02s01")
    assert second is not None and second.seconds < 10


def test_stages_are_timed_from_their_start_to_their_last_result(events: list[Event]) -> None:
    step = RunView.of(events).steps[0]
    assert step.timings == {"rollout": 2, "reflect": 2, "update": 1, "evaluate": 3}


def test_progress_counts_the_results_of_parts_for_their_step(events: list[Event]) -> None:
    begun = upto(events, "e01s01/rollout/started").progress
    assert begun is not None
    assert (begun.at, begun.stage, begun.done, begun.of, begun.started) == ("e01s01", "rollout", 0, 2, events[5].ts)
    one = RunView.of(events[:7])
    assert one.progress is not None and (one.progress.at, one.progress.done) == ("e01s01", 1)
    assert [(p.at, p.stage) for p in one.stages] == [("e01s01", "rollout")]
    assert RunView.of(events[:8]).stages == ()


def test_a_step_gathers_its_parts(events: list[Event]) -> None:
    step = RunView.of(events).step("e01s01b1")
    assert step is not None
    assert (step.at, step.step, step.epoch, step.step_in_epoch) == ("e01s01", 1, 1, 1)
    assert [(p.index, p.tally.n, p.tally.missing, len(p.reflections)) for p in step.parts] == [
        (0, 1, 0, 1),
        (1, 0, 1, 1),
    ]
    assert (step.tally.n, step.tally.missing) == (1, 1)
    assert [r.item for r in step.evaluation] == ["v1", "v2"]
    assert step.selected and step.selected.budget == 1
    assert step.decision and step.decision.action == "accept_new_best"
    assert step.after and step.after.best_step == 1
    assert RunView.of(events).step("baseline") is None


def test_a_step_without_parts(events: list[Event]) -> None:
    view = RunView.of(events)
    assert [s.at for s in view.steps] == ["e01s01", "e02s01"]
    (part,) = view.steps[1].parts
    assert (part.index, part.tally.hard) == (None, 1.0)


def test_nothing_that_went_wrong_is_forgotten(events: list[Event]) -> None:
    view = RunView.of(events)
    (missing,) = view.missing
    assert (missing.at, missing.item, missing.failure.kind) == ("e01s01b1", "t2", "timeout")
    assert [(m.at, m.reason) for m in view.lost] == [("e01s01", "not JSON")]
    assert [(m.stage, m.reason) for m in view.fallbacks] == [("aggregate", "not JSON")]


def test_usage_is_kept_by_stage(events: list[Event]) -> None:
    view = RunView.of(events)
    rollouts = sum(e.key.startswith("rollout/") for e in events)
    assert view.usage["rollout"] == Usage(rollouts, 10 * rollouts, 5 * rollouts)
    assert view.usage["merge"] == Usage(1, 7, 3)
    assert view.steps[0].usage["rollout"].calls == 4


def test_trajectories_are_not_kept(events: list[Event]) -> None:
    view = RunView.of(events)
    assert all(r.trajectory == () for r in view.rollouts_of("val") + view.rollouts_of("train"))


def test_a_slow_update_changes_the_skill_of_the_last_step_and_is_not_a_best(events: list[Event]) -> None:
    before, after = upto(events, "e02s01/decision"), RunView.of(events)
    assert before.skills[2].region("slow_update") == ""
    assert after.skills[2].region("slow_update") == "Keep answers short."
    assert after.skills[1] == before.skills[1]
    assert after.best_digests == (Skill.parse("# Seed\n").digest, after.skills[1].digest)


def test_a_stopped_run_says_why_and_goes_on_when_resumed(events: list[Event]) -> None:
    stop = Event(seq=19, ts=5000, key="session/1/stopped", body=RunStopped(reason="key expired"))
    view = RunView.of([*events[:18], stop])
    assert (view.status.name, view.status.reason) == ("stopped", "key expired")
    view.apply(events[18])
    assert view.status.name == "running"


def test_an_empty_journal_is_an_empty_view() -> None:
    view = RunView()
    assert (view.status.name, view.steps, view.wall_time, view.usage) == ("empty", (), 0, {})


@pytest.mark.parametrize("at", ["baseline", "slow/e02", "final", "e2", "e01s01x", "xe01s01"])
def test_other_places_are_no_steps(at: str) -> None:
    assert StepName.parse(at) is None
