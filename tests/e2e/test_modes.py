"""Every way of updating and every switch, on the loopback world, with a case in which it changes the outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillopt.errors import ConfigError
from skillopt.journal.artifacts import rebuild
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill, appendix_notes
from skillopt.testing.analysts import NEUTRAL
from skillopt.testing.knacks import BY_NAME
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial
from skillopt.testing.world import World
from skillopt.types import JSON

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
SMALL: dict[str, JSON] = {
    "train.num_epochs": 2,
    "train.batch_size": 12,
    "gradient.minibatch_size": 4,
    "gradient.merge_batch_size": 2,
    "optimizer.slow_update_samples": 8,
    "optimizer.use_slow_update": False,
    "optimizer.use_meta_skill": False,
    "env.workers": 8,
}
ONE_EDIT: dict[str, JSON] = {
    "optimizer.learning_rate": 1,
    "optimizer.min_learning_rate": 1,
    "gradient.failure_only": True,
    "gradient.minibatch_size": 24,
}
HABIT = BY_NAME["gate-colour"].override


@contextmanager
def a_trial(home: Path, world: World, **settings: JSON) -> Iterator[Trial]:
    more = {key.replace("__", "."): value for key, value in settings.items()}
    with LoopbackServer.in_thread(world, seed=world.seed) as server:
        yield Trial(home, server.url, CONFIG, SMALL | more).write_items(24, 20, 20)


def read(path: Path) -> JSON:
    return json.loads(path.read_text(encoding="utf-8"))


def best(view: RunView) -> float:
    assert view.state is not None and view.state.best_score is not None
    return view.state.best_score


@pytest.mark.parametrize(
    ("mode", "made", "kind"),
    [
        ("rewrite", "rewrite_result.json", "revise_suggestions"),
        ("full_rewrite", "full_rewrite_result.json", "skill_candidates"),
    ],
)
def test_rewrite_modes_train_and_keep_front_matter_and_guidance(
    tmp_path: Path, mode: str, made: str, kind: str
) -> None:
    guidance = "<!-- SLOW_UPDATE_START -->\nStay calm.\n<!-- SLOW_UPDATE_END -->\n"
    (tmp_path / "seed.md").write_text(f"---\nname: clues\ndescription: d\n---\n\n# Clues\n\n{guidance}")
    with a_trial(tmp_path, World(3)) as trial:
        view = trial.train(optimizer__skill_update_mode=mode, env__skill_init=str(tmp_path / "seed.md")).view
    assert view.baseline is not None and best(view) > (view.baseline.objective or 0) + 0.3
    skill = Skill.load(tmp_path / "run" / "best_skill.md")
    assert skill.region("slow_update") == "Stay calm." and skill.front.startswith("---\nname: clues")
    assert skill.body.count("# Clues") == 1 and skill.body.count("Rule ") >= 4
    step = tmp_path / "run" / "steps" / "step_0001"
    assert read(step / made) and kind in read(step / "merged_patch.json")
    record = read(step / "step_record.json")
    assert record["rewrite_change_summary"] and record["candidate_hash"]
    assert (record["edit_budget"] is None) == (mode == "full_rewrite")


def test_the_optimizers_own_rate_leaves_a_bad_edit_out(tmp_path: Path) -> None:
    settings = {"optimizer__learning_rate": 9, "gradient__failure_only": True}
    with a_trial(tmp_path, World(3, habit="gate-colour"), **settings) as trial:
        fixed = trial.train("fixed").view
        chosen = trial.train("chosen", optimizer__lr_control_mode="autonomous").view
    assert HABIT in fixed.steps[1].decision.candidate and HABIT not in chosen.steps[1].decision.candidate
    assert chosen.steps[1].after.best_score > fixed.steps[1].after.best_score
    rates = [json.loads(line) for line in (tmp_path / "chosen" / "lr_history.jsonl").read_text().splitlines()]
    assert rates[1] | {"step": 2, "epoch": 1, "learning_rate": 4, "available_update_items": 6} == rates[1]
    assert read(tmp_path / "chosen/steps/step_0002/lr_decision.json")["fallback"] is False
    assert read(tmp_path / "chosen/history.json")[1]["lr_control_mode"] == "autonomous"
    assert chosen.usage["lr_autonomous"].calls == 2


def test_no_rate_is_no_limit(tmp_path: Path) -> None:
    with a_trial(tmp_path, World(3)) as trial:
        limited = trial.train("limited").view
        free = trial.train("free", optimizer__lr_control_mode="none").view
    first = [len(view.steps[0].selected.patch.edits) for view in (limited, free)]
    assert first[0] == 4 < first[1] and free.steps[0].selected.budget is None


@pytest.mark.parametrize("gated", [False, True])
def test_the_slow_update_repairs_a_regression(tmp_path: Path, gated: bool) -> None:
    """The gate is off and the last step breaks a kind of question; only the longer view brings it back."""
    settings = ONE_EDIT | {"train.batch_size": 24, "evaluation.use_gate": False, "optimizer.slow_update_samples": 24}
    given = {key.replace(".", "__"): value for key, value in settings.items()}
    with a_trial(tmp_path, World(3, habit="gate-colour"), **given) as trial:
        without = trial.train("without").view
        repaired = trial.train(
            "with", optimizer__use_slow_update=True, optimizer__slow_update_gate_with_selection=gated
        ).view
    assert HABIT in without.state.current.body and HABIT in repaired.state.current.body
    assert repaired.slow_updates[2].curr_hard < repaired.slow_updates[2].prev_hard
    assert BY_NAME["gate-colour"].restore in repaired.state.current.region("slow_update")
    assert repaired.finished.final_test.hard > without.finished.final_test.hard
    decision = repaired.decision("slow/e02")
    assert (decision.action, decision.tally is None) == (
        ("accept_new_best", False) if gated else ("force_accept", True)
    )
    assert best(repaired) > best(without) and repaired.state.best_origin == "slow_update_epoch_02"
    if not gated:
        assert repaired.decision("final").action == "promote", "a forced update is measured before it is best"


def test_only_changed_pairs_are_topped_up_from_the_split(tmp_path: Path) -> None:
    settings = {"optimizer__use_slow_update": True, "optimizer__slow_update_samples": 5}
    with a_trial(tmp_path, World(3), **settings) as trial:
        mixed = trial.train("mixed").view.slow_updates[2]
        runs = [
            trial.train(f"w{n}", env__workers=n, optimizer__longitudinal_pair_policy="changed").view for n in (1, 12)
        ]
    changed = runs[0].slow_updates[2]
    assert changed.pairs == runs[1].slow_updates[2].pairs
    assert {pair.category for pair in changed.pairs} == {"improved"}
    few = [pair for pair in mixed.pairs if pair.category in ("improved", "regressed")]
    assert len(few) < len(changed.pairs) <= 5 and changed.pairs[: len(few)] == tuple(few)
    assert len(changed.all_pairs) > 5 and len(changed.all_pairs) % 5 in (0, 4)
    assert len(read(tmp_path / "w1/slow_update/epoch_02/comparison_pairs_all.json")) == len(changed.all_pairs)


def test_the_meta_skill_changes_later_edits(tmp_path: Path) -> None:
    def phrases(view: RunView) -> int:
        edits = [e for s in view.steps if s.epoch >= 3 for r in s.reflections for e in r.patch.edits]
        return sum(edit.content in NEUTRAL for edit in edits)

    settings = {"train__num_epochs": 4, "optimizer__learning_rate": 2}
    with a_trial(tmp_path, World(3), **settings) as trial:
        without = trial.train("without").view
        advised = trial.train("with", optimizer__use_meta_skill=True).view
    assert "general advice changes nothing" in advised.state.meta_skill
    assert phrases(without) > 0 and phrases(advised) == 0
    assert 4 not in advised.meta_skills, "nobody would read what is written after the last epoch"


def test_reminders_reach_the_best_skill_and_survive_rewrites(tmp_path: Path) -> None:
    settings = {"train__num_epochs": 3, "optimizer__skill_update_mode": "rewrite", "optimizer__use_slow_update": True}
    with a_trial(tmp_path, World(3, lapses=0.4), **settings) as trial:
        plain = trial.train("plain").view
        aware = trial.train("aware", optimizer__use_skill_aware_reflection=True).view
    assert best(aware) > best(plain)
    folders = sorted((tmp_path / "aware" / "steps").iterdir())
    records = [read(folder / "step_record.json") for folder in folders]
    first = next(n for n, record in enumerate(records) if record.get("n_appendix_notes_added"))
    reminded, record = aware.steps[first], records[first]
    assert reminded.decision.action == "accept_new_best"
    assert any(step.rewrite is not None for step in aware.steps[first + 1 :]), "a rewrite after the first reminders"
    notes = appendix_notes(Skill.load(tmp_path / "aware" / "best_skill.md"))
    assert set(appendix_notes(reminded.after.current)) <= set(notes)
    assert "APPENDIX" not in (tmp_path / "plain" / "best_skill.md").read_text()
    assert record["n_execution_lapse_notes"] >= record["n_appendix_notes_added"] == record["n_appendix_notes_total"]
    after = read(folders[first] / "appendix_notes.json")["appendix_after"]
    assert len(after) == record["n_appendix_notes_total"] > 0


def test_a_long_appendix_is_consolidated_and_a_rejected_one_forgotten(tmp_path: Path) -> None:
    settings = {"train__num_epochs": 3, "optimizer__use_skill_aware_reflection": True}
    with a_trial(tmp_path, World(3, lapses=0.4), **settings) as trial:
        long = trial.train("long").view
        short = trial.train("short", optimizer__skill_aware_consolidate_threshold=2).view
    before, after = (appendix_notes(view.state.best) for view in (long, short))
    assert 0 < len(after) < len(before) and best(short) == best(long)
    assert read(tmp_path / "short/history.json")[2]["n_appendix_notes_consolidated"] == 2
    for step in long.steps:
        if step.decision.action == "reject":
            refused = set(appendix_notes(Skill.parse(step.decision.candidate)))
            assert appendix_notes(step.after.current) == appendix_notes(long.skills[step.step - 1]) or not refused


def test_reminders_need_a_mode_that_has_a_place_for_them(tmp_path: Path) -> None:
    with a_trial(tmp_path, World(3)) as trial, pytest.raises(ConfigError, match="cannot be told from a fault"):
        trial.train(optimizer__skill_update_mode="full_rewrite", optimizer__use_skill_aware_reflection=True)


@pytest.mark.parametrize(("scope", "tries"), [("epoch", [2, 3, 5]), ("run", [2])])
def test_the_buffer_stops_a_repeated_bad_edit(tmp_path: Path, scope: str, tries: list[int]) -> None:
    """A rejected edit is not proposed again within the epoch, or within the run where the memory lasts as long."""
    given = {key.replace(".", "__"): value for key, value in ONE_EDIT.items()}
    with a_trial(tmp_path, World(3, habit="gate-colour"), train__num_epochs=3, **given) as trial:
        view = trial.train(train__memory_scope=scope).view
    assert [step.step for step in view.steps if HABIT in step.decision.candidate] == tries
    assert best(view) == pytest.approx(0.45 if scope == "epoch" else 0.65)
    (pattern, *_) = read(tmp_path / "run/steps/step_0002/trajectory_digest.json")["failure_patterns"]
    rows = (tmp_path / "run/steps/step_0002/rollout/results.jsonl").read_text()
    assert pattern["task_ids"] and all(item in rows for item in pattern["task_ids"])


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer__skill_update_mode": "rewrite", "optimizer__use_skill_aware_reflection": True},
        {"optimizer__skill_update_mode": "full_rewrite", "optimizer__use_slow_update": True},
        {"optimizer__lr_control_mode": "autonomous", "optimizer__longitudinal_pair_policy": "changed"},
    ],
)
def test_every_file_can_be_made_again_from_the_journal(tmp_path: Path, settings: dict[str, JSON]) -> None:
    with a_trial(tmp_path, World(3, lapses=0.4), optimizer__use_meta_skill=True, **settings) as trial:
        trial.train()
    run = tmp_path / "run"

    def files() -> dict[str, bytes]:
        made = (path for path in run.rglob("*") if path.is_file() and path.name not in ("events.jsonl", ".lock"))
        return {str(path.relative_to(run)): path.read_bytes() for path in made}

    before = files()
    rebuild(run)
    assert files() == before


def test_patience_ends_a_run_that_no_longer_improves(tmp_path: Path) -> None:
    with a_trial(tmp_path, World(3), train__num_epochs=6) as trial:
        whole = trial.train("whole").view
        short = trial.train("short", train__patience=2).view
    assert len(whole.steps) == 12 > len(short.steps)
    assert [step.decision.action == "accept_new_best" for step in short.steps][-2:] == [False, False]
    assert best(short) == best(whole) and short.finished is not None


def test_patience_counts_new_bests_where_the_gate_is_off(tmp_path: Path) -> None:
    with a_trial(tmp_path, World(3), evaluation__use_gate=False, train__patience=1) as trial:
        view = trial.train().view
    assert {step.decision.action for step in view.steps} <= {"force_accept", "skip_no_patches", "skip_no_change"}
    assert len(view.steps) > 1 and view.state.best_step == len(view.steps) - 1


class Listener(World):
    """A world that keeps what it is asked."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.heard: list[tuple[str, str]] = []

    def reply(self, system: str, user: str) -> str:
        self.heard.append((self.read(system).role, user))
        return super().reply(system, user)


def test_hidden_references_reach_analysts_and_nobody_else(tmp_path: Path) -> None:
    world = Listener(3)
    with a_trial(tmp_path, world, train__num_epochs=1) as trial:
        rows = read(tmp_path / "split/train/items.json")
        for row in rows:
            row["reference_text"] = f"REFERENCE {row['id']}"
        (tmp_path / "split/train/items.json").write_text(json.dumps(rows))
        for shown in (False, True):
            world.heard.clear()
            trial.train(f"shown{shown}", gradient__use_reference=shown)
            heard = {role for role, user in world.heard if "REFERENCE " in user}
            assert heard == ({"failure analyst", "success analyst"} if shown else set())
    assert "REFERENCE " not in (tmp_path / "shownTrue" / "events.jsonl").read_text()
    asked = next(user for role, user in world.heard if role == "failure analyst")
    assert asked.count("<reference>\nREFERENCE ") == asked.count("<trajectory>")


@pytest.mark.parametrize(("metric", "weight"), [("soft", 0.5), ("mixed", 0.25)])
def test_the_gate_compares_the_chosen_metric(tmp_path: Path, metric: str, weight: float) -> None:
    share = 1.0 if metric == "soft" else weight
    with a_trial(tmp_path, World(3)) as trial:
        view = trial.train(evaluation__gate_metric=metric, evaluation__gate_mixed_weight=weight).view
    for decision in (view.baseline, *(step.decision for step in view.steps)):
        if decision.tally is not None:
            blend = (1 - share) * decision.tally.hard + share * decision.tally.soft
            assert decision.objective == pytest.approx(blend)
    assert read(tmp_path / "run/history.json")[0]["gate_metric"] == metric


def test_a_run_can_begin_where_another_ended(tmp_path: Path) -> None:
    with a_trial(tmp_path, World(3), train__num_epochs=1) as trial:
        first = trial.train("first").view
        second = trial.train("second", env__skill_init=str(tmp_path / "first")).view
    assert second.seed_skill == first.state.best.text
    assert second.baseline.objective == best(first) <= best(second)


def test_parts_and_failures_only(tmp_path: Path) -> None:
    with a_trial(tmp_path, World(3), train__batch_size=6, train__accumulation=2, gradient__failure_only=True) as trial:
        view = trial.train().view
    assert len(view.steps) == 4 and [len(part.rollouts) for part in view.steps[0].parts] == [6, 6]
    assert {r.source for step in view.steps for r in step.reflections} == {"failure"}
    assert len(read(tmp_path / "run/history.json")[0]["accumulation_batches"]) == 2
