"""Laws of the gates: strict decides as a whole pass would, and a gate that is sure of nothing never spends more."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.evaluation.gates import Certified, Evidence, Gate, Race, Strict, spread
from skillopt.evaluation.objective import Objective
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.skill.document import Skill
from skillopt.types import Decision, Failure, Item, Rollout, Score, Tally

BAR, NEW = Skill("# Bar\n"), Skill("# New, and longer\n")
Rows = list[tuple[float | None, float | None]]
scores = st.sampled_from([0.0, 0.25, 0.5, 1.0, None])
passes = st.sampled_from([0.0, 1.0])


def pairs(values: st.SearchStrategy[float | None]) -> st.SearchStrategy[Rows]:
    return st.lists(st.tuples(values, values), min_size=1, max_size=80)


def row(item: Item, score: float | None) -> Rollout:
    judged = None if score is None else Score(float(score == 1), score)
    return Rollout(item.id, item.digest, "s", "val", item.kind, judged, Failure("x", "") if score is None else None)


def opened(rows: Rows, metric: str, seed: int) -> tuple[Evidence, dict[str, Rollout]]:
    items = tuple(Item.make(str(k), "val", f"k{k % 3}", {}) for k in range(len(rows)))
    old = {i.digest: row(i, bar) for i, (bar, _) in zip(items, rows, strict=True)}
    new = {i.digest: row(i, value) for i, (_, value) in zip(items, rows, strict=True)}
    bar = Objective(metric).of(Tally.of(old.values()), BAR)
    state = State.start(BAR).apply(Decision("baseline", "baseline", BAR.text, "", "", objective=bar))
    return Evidence("e", state, Candidate.whole(NEW, BAR, ""), items, old, order=spread(items, seed)), new


def finished(gate: Gate, evidence: Evidence, draws: dict[str, Rollout]) -> tuple[Decision, int]:
    for _ in range(len(evidence.items) + 2):
        if not (wanted := gate.wants(evidence)):
            return gate.decide(evidence), len(evidence.outcomes)
        assert not {i.digest for i in wanted.candidate} & set(evidence.outcomes), "asked twice"
        evidence = evidence.add([draws[i.digest] for i in wanted.candidate])
    raise AssertionError("a gate must come to an end")


@settings(max_examples=150, deadline=None)
@given(st.one_of(pairs(passes), pairs(scores)), st.sampled_from(["hard", "soft", "mixed"]), st.integers(0, 5))
def test_strict_decides_as_a_whole_pass_does(rows: Rows, metric: str, seed: int) -> None:
    gate = Strict(Objective(metric))
    evidence, draws = opened(rows, metric, seed)
    whole = gate.decide(evidence.add([draws[i.digest] for i in evidence.items]))
    stopped, spent = finished(gate, evidence, draws)
    assert stopped.action == whole.action
    assert stopped.partial == (spent < len(rows)) and (not stopped.partial or stopped.action == "reject")


@settings(max_examples=100, deadline=None)
@given(pairs(passes), st.integers(0, 5))
def test_a_race_that_runs_to_the_end_is_the_strict_comparison(rows: Rows, seed: int) -> None:
    evidence, draws = opened(rows, "hard", seed)
    strict, _ = finished(Strict(Objective()), evidence, draws)
    sure, _ = finished(Race(Objective(), gamma=1e-12, block=5), evidence, draws)
    assert sure.action == strict.action
    for gate in (Race(Objective()), Certified(Objective(), looks=4)):
        assert finished(gate, evidence, draws)[1] <= len(rows)


@settings(max_examples=60, deadline=None)
@given(pairs(passes), st.randoms())
def test_what_is_on_record_beyond_the_question_changes_nothing(rows, random) -> None:  # type: ignore[no-untyped-def]
    """Two sessions ask for the same blocks in the same order, whatever order the answers came in."""
    evidence, draws = opened(rows, "hard", 1)
    gate, other = Race(Objective(), block=6), evidence
    while wanted := gate.wants(evidence):
        assert wanted == gate.wants(other)
        found = [draws[i.digest] for i in wanted.candidate]
        evidence = evidence.add(found)
        random.shuffle(found)
        other = other.add(found)
    assert gate.decide(evidence) == gate.decide(other)
