"""The policies on evidence made by hand: when they stop, what they ask for, what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt.evaluation.gates import Certified, Evidence, Gate, Guarded, Off, Race, Strict, judged, spread, wanted_by
from skillopt.evaluation.objective import Objective
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.skill.document import Skill
from skillopt.types import Decision, Item, Rollout, Score

HARD = Objective()
BAR, NEW = Skill("# Bar\n\n- A rule that is here.\n"), Skill("# New\n\n- A rule that is here, and more.\n")


def items(n: int, kinds: int = 1) -> tuple[Item, ...]:
    return tuple(Item.make(str(k), "val", f"kind{k % kinds}", {}) for k in range(n))


def row(item: Item, score: float | None) -> Rollout:
    from skillopt.types import Failure

    judged = None if score is None else Score(float(score >= 1), score)
    return Rollout(item.id, item.digest, "s", "val", item.kind, judged, Failure("x", "y") if score is None else None)


def rows(split: tuple[Item, ...], scores: list[float | None]) -> dict[str, Rollout]:
    return {i.digest: row(i, s) for i, s in zip(split, scores, strict=True)}


def opened(split: tuple[Item, ...], bar: list[float | None], skill: Skill = NEW, **more: object) -> Evidence:
    state = State.start(BAR)
    decided = Decision("baseline", "baseline", BAR.text, "", "seed", objective=sum(b or 0 for b in bar) / len(bar))
    candidate = Candidate.whole(skill, BAR, "step_0001")
    return Evidence("e01s01", state.apply(decided), candidate, split, rows(split, bar), **more)  # type: ignore[arg-type]


def measure(gate: Gate, evidence: Evidence, scores: list[float | None]) -> tuple[Decision, int, int]:
    """The decision, the attempts it took, and the number of looks."""
    draws, spent, looks = rows(evidence.items, scores), 0, 0
    while wanted := gate.wants(evidence):
        looks, spent = looks + 1, spent + len(wanted.candidate)
        evidence = evidence.add([draws[i.digest] for i in wanted.candidate])
    return gate.decide(evidence), spent, looks


def test_strict_stops_what_can_no_longer_win_and_says_that_its_score_is_partial() -> None:
    split = items(100)
    decision, spent, looks = measure(Strict(HARD), opened(split, [1.0] * 90 + [0.0] * 10), [0.0] * 100)
    assert decision.action == "reject" and spent < 40 and looks <= 2
    assert decision.partial and (decision.of, decision.tally and decision.tally.n) == (100, spent)
    assert f"on {spent} of 100 items cannot" in decision.reason


def test_strict_asks_a_small_split_at_once_and_in_item_order() -> None:
    evidence = opened(items(24), [0.0, 1.0] * 12, order=spread(items(24), 1))
    assert Strict(HARD).wants(evidence).candidate == evidence.items


@pytest.mark.parametrize("gate", [Strict(HARD), Race(HARD), Certified(HARD), Off(HARD)])
def test_the_first_document_is_measured_whole(gate: Gate) -> None:
    split = items(30)
    evidence = Evidence("baseline", State.start(BAR), Candidate.whole(BAR, BAR, "seed"), split)
    decision, spent, looks = measure(gate, evidence, [1.0] * 30)
    assert (decision.action, spent, looks, decision.partial) == ("baseline", 30, 1, False)


def test_off_keeps_what_is_worse() -> None:
    decision, spent, _ = measure(Off(HARD), opened(items(20), [1.0] * 20), [0.0] * 20)
    assert (decision.action, spent, decision.objective) == ("force_accept", 20, 0.0)


def test_race_ends_early_both_ways_and_looks_in_blocks() -> None:
    split, half = items(100), [1.0, 0.0] * 50
    good, spent_good, _ = measure(Race(HARD), opened(split, half), [1.0] * 100)
    bad, spent_bad, _ = measure(Race(HARD), opened(split, half), [0.0] * 100)
    assert (good.action, bad.action) == ("accept_new_best", "reject")
    assert max(spent_good, spent_bad) <= 40 and good.partial and spent_good % 10 == 0
    assert good.objective == 1.0 and good.bar == pytest.approx(0.5), "the bar is that of the same items"


def test_race_does_not_keep_what_changes_nothing() -> None:
    same = [1.0, 0.0] * 20
    assert measure(Race(HARD), opened(items(40), same), same)[0].action == "reject"


def test_race_asks_for_the_outcomes_that_an_early_accepted_bar_lacks() -> None:
    split = items(40)
    evidence = opened(split, [0.0] * 40)
    evidence = replace(evidence, incumbent=dict(list(evidence.incumbent.items())[:4]))
    wanted = Race(HARD, block=8).wants(evidence)
    assert wanted.candidate == split[:8] and wanted.incumbent == split[4:8]


def test_the_margin_asks_for_a_lead() -> None:
    bar, new = [0.0] * 40, [1.0, 1.0] + [0.0] * 38
    assert measure(Race(HARD, block=40), opened(items(40), bar), new)[0].action == "accept_new_best"
    assert measure(Race(HARD, block=40, margin=1.0), opened(items(40), bar), new)[0].action == "reject"


@pytest.mark.parametrize("make", [lambda tie: Strict(HARD, tie), lambda tie: Race(HARD, block=20, tie_margin=tie)])
def test_a_tie_goes_to_the_shorter_document_within_the_stated_margin(make) -> None:  # type: ignore[no-untyped-def]
    split, shorter = items(20), Skill("# Bar\n")
    same, one_less = [1.0] * 20, [1.0] * 19 + [0.0]
    tried = {
        (tie, name): measure(make(tie), opened(split, same, skill), scores)[0].action
        for tie in (None, 0.0, 0.05)
        for name, skill, scores in (("tie", shorter, same), ("less", shorter, one_less), ("longer", NEW, same))
    }
    kept = {key for key, action in tried.items() if action == "accept_new_best"}
    assert kept == {(0.0, "tie"), (0.05, "tie"), (0.05, "less")}


def test_soft_differences_are_raced_by_the_same_rule() -> None:
    split = items(60)
    better, _, _ = measure(Race(Objective("soft")), opened(split, [0.3] * 60), [0.6] * 60)
    worse, spent, _ = measure(Race(Objective("soft")), opened(split, [0.6] * 60), [0.3] * 60)
    assert (better.action, worse.action) == ("accept_new_best", "reject") and spent < 60


def test_missing_data_is_left_out_on_both_sides() -> None:
    split = items(12)
    bar: list[float | None] = [1.0] * 6 + [0.0] * 6
    for gate in (Strict(HARD), Race(HARD, block=12)):
        decision, _, _ = measure(gate, opened(split, bar), [None] * 6 + [0.0] * 5 + [1.0])
        assert decision.action == "accept_new_best" and decision.tally and decision.tally.missing == 6
        assert measure(gate, opened(split, bar), [None] * 12)[0].action == "reject"


def test_certified_accepts_proof_and_gives_up_when_there_can_be_none() -> None:
    gate = Certified(HARD, alpha=0.05, looks=8)
    proven, spent, _ = measure(gate, opened(items(60), [0.0] * 60), [1.0] * 60)
    assert proven.action == "accept_new_best" and spent < 20
    hopeless, spent, _ = measure(gate, opened(items(40), [1.0] * 36 + [0.0] * 4), [1.0] * 40)
    assert hopeless.action == "reject" and spent == 0, "four items to gain prove nothing at this price"


def test_certified_says_beforehand_what_it_can_accept() -> None:
    gate = Certified(HARD, alpha=0.05, looks=8)
    assert "cannot accept anything on 6 selection items" in gate.promise(6)
    needed = int(gate.promise(200).split("at least ")[1].split()[0])
    split = items(200)
    enough, _, _ = measure(gate, opened(split, [0.0] * 200), [1.0] * needed + [0.0] * (200 - needed))
    short, _, _ = measure(gate, opened(split, [0.0] * 200), [1.0] * (needed - 1) + [0.0] * (201 - needed))
    assert (enough.action, short.action) == ("accept_new_best", "reject")


def test_the_screen_drops_what_mends_nothing_it_names() -> None:
    claims, split = items(3), items(20)[10:]
    gate = Guarded(Strict(HARD), screen=2)
    evidence = opened(split, [0.0] * 10, claims=claims)
    assert gate.wants(evidence).claims == claims[:2]
    none = evidence.add(claimed=[row(i, 0.0) for i in claims[:2]])
    assert not gate.wants(none) and "mends none of the 2" in gate.decide(none).reason
    one = evidence.add(claimed=[row(claims[0], 0.0), row(claims[1], 1.0)])
    assert gate.wants(one).candidate == split


def test_a_lost_anchor_is_tried_again_before_it_counts() -> None:
    split = items(20)
    gate = Guarded(Strict(HARD), anchors=frozenset({"0"}))
    evidence = opened(split, [1.0] + [0.0] * 19).add([row(i, float(i.id != "0")) for i in split])
    assert gate.wants(evidence).again == split[:1]
    again = evidence.add(repeated=[row(split[0], 1.0)])
    assert not gate.wants(again) and gate.decide(again).action == "accept_new_best"
    lost = gate.decide(evidence.add(repeated=[row(split[0], 0.0)]))
    assert lost.action == "reject" and "must be kept: 0 (failed twice)" in lost.reason


def test_the_order_spreads_the_kinds_and_follows_the_seed() -> None:
    split = items(60, kinds=3)
    order = spread(split, 7)
    assert sorted(i.id for i in order) == sorted(i.id for i in split) and order == spread(split, 7) != spread(split, 8)
    for end in (12, 30, 48):
        counts = [sum(i.kind == kind for i in order[:end]) for kind in ("kind0", "kind1", "kind2")]
        assert max(counts) - min(counts) <= 2


def test_the_first_of_a_field_to_win_ends_it_and_the_best_is_kept() -> None:
    split, gate = items(80), Race(HARD)
    field = [opened(split, [0.0, 1.0] * 40, Skill(f"# {k}\n")) for k in range(3)]
    scores = [[0.0, 1.0] * 40, [1.0] * 80, [1.0, 1.0, 0.0, 1.0] * 20]
    spent = 0
    while any(wants := wanted_by(gate, field)):
        spent += sum(len(w.candidate) for w in wants)
        field = [
            each.add([rows(split, scores[k])[i.digest] for i in wants[k].candidate]) for k, each in enumerate(field)
        ]
    best, others = judged(gate, field)
    assert best.candidate == "# 1\n" and best.action == "accept_new_best" and spent < 3 * 40
    assert [o.action for o in others] == ["reject", "reject"]


def test_a_tie_of_partial_credit_is_a_tie() -> None:
    bar, new = [0.3, 0.1, 0.2, 0.0] * 5, [0.1, 0.2, 0.3, 0.0] * 5
    for gate in (Race(Objective("soft")), Race(Objective("soft"), block=20)):
        assert measure(gate, opened(items(20), bar), new)[0].action == "reject"
