"""A small synthetic run: two epochs of one step each, in the order the engine records them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.journal.events import (
    Body,
    Decided,
    Event,
    Finished,
    Merged,
    MetaSkillWritten,
    Pair,
    Reflected,
    RolloutDone,
    RunResumed,
    RunStarted,
    Selected,
    SlowUpdated,
    StageStarted,
)
from skillopt.journal.log import Journal
from skillopt.skill.document import Skill
from skillopt.types import (
    Decision,
    Edit,
    EditReport,
    Failure,
    Patch,
    Pattern,
    Reflection,
    Rollout,
    Score,
    StepDigest,
    Tally,
    Turn,
    Usage,
)

SEED = "# Seed\n"
BETTER = "# Seed\n\nRead the whole question — twice.\n"
GUIDED = Skill.parse(BETTER).with_region("slow_update", "Keep answers short.").text
LONG = "trajectory " * 1000

Keyed = tuple[str, Body]


def digest_of(text: str) -> str:
    return Skill.parse(text).digest


def attempt(at: str, stage: str, item: str, skill: str, hard: float | None, draw: str = "d") -> Keyed:
    score = None if hard is None else Score(hard, hard / 2, {"f1": hard, "id": "not the item"})
    failure = Failure("timeout", "no answer in 60 s") if hard is None else None
    trajectory = (Turn("user", "q"), Turn("assistant", LONG))
    rollout = Rollout(
        item, f"digest-{item}", digest_of(skill), draw, "qa", score, failure, "ans", trajectory, Usage(1, 10, 5)
    )
    key = f"rollout/{rollout.skill}/{item}/{draw}"
    return key, RolloutDone(at=at, stage=stage, rollout=rollout)


def verdict(at: str, action: str, text: str, objective: float | None, step: int = 0, **more: object) -> Keyed:
    tally = None if objective is None else Tally(2, objective, objective / 2)
    memory = None
    if step:
        pattern = Pattern("haste", "skips half of the question", 1, ("t2",))
        memory = StepDigest(step, step, action, 2, 1, (pattern,), 0.5, objective, (Edit(content="x"),))
    decision = Decision(at, action, text, "parent", f"origin-{at}", objective, tally, 0.5, "why", memory=memory, **more)  # type: ignore[arg-type]
    return f"{at}/decision", Decided(decision=decision)


def started() -> Keyed:
    config = {"resolved": {"train": {"seed": 1}, "env": {"name": "searchqa"}}, "flat": {"seed": 1, "env": "searchqa"}}
    plan = {"train": 2, "val": 2, "test": 1, "steps_per_epoch": 1, "total_steps": 2, "epochs": 2, "workers": 4}
    body = RunStarted(skillopt="0.2.0", config=config, prompts={}, data={}, seed_skill=SEED, plan=plan)
    return "run", body


def whole_run() -> list[Keyed]:
    edit = Edit(content="Read the whole question — twice.", support_count=2)
    patch = Patch((edit, Edit(content="other")), "because")
    report = EditReport(1, "append", "", "Read", "applied_append")
    lost, found = Reflection("success", ("t1",), lost="not JSON"), Reflection("failure", ("t2",), patch)
    merged = Merged(at="e01s01", side="final", level=0, patch=patch, fallback="not JSON", usage=Usage(1, 7, 3))
    guidance = "Keep answers short."
    seed_test, best_test = Tally(1, 0.0, 0.0), Tally(1, 1.0, 0.5)
    pair = Pair(id="t1", task="q", category="improved", prev={"hard": 0}, curr={"hard": 1})
    return [
        started(),
        ("baseline/evaluate/started", StageStarted(at="baseline", stage="evaluate", of=2)),
        attempt("baseline", "val", "v1", SEED, 1.0, "val"),
        attempt("baseline", "val", "v2", SEED, 0.0, "val"),
        verdict("baseline", "baseline", SEED, 0.5),
        ("e01s01/rollout/started", StageStarted(at="e01s01", stage="rollout", of=2)),
        attempt("e01s01b0", "train", "t1", SEED, 1.0),
        attempt("e01s01b1", "train", "t2", SEED, None),
        ("e01s01/reflect/started", StageStarted(at="e01s01", stage="reflect", of=2)),
        ("e01s01/reflect/1", Reflected(at="e01s01", index=1, reflection=lost)),
        ("e01s01/reflect/0", Reflected(at="e01s01", index=0, reflection=found)),
        ("e01s01/merge", merged),
        ("e01s01/select", Selected(at="e01s01", pool=patch, patch=Patch((edit,)), budget=1)),
        ("e01s01/update/started", StageStarted(at="e01s01", stage="update")),
        ("e01s01/evaluate/started", StageStarted(at="e01s01", stage="evaluate", of=2)),
        attempt("e01s01", "val", "v1", BETTER, 1.0, "val"),
        attempt("e01s01", "val", "v2", BETTER, 1.0, "val"),
        verdict("e01s01", "accept_new_best", BETTER, 1.0, 1, patch=Patch((edit,)), reports=(report,)),
        ("session/1/resumed", RunResumed()),
        attempt("e02s01", "train", "t1", BETTER, 1.0),
        verdict("e02s01", "reject", "# Worse\n", 0.5, 2),
        ("slow/e02/guidance", SlowUpdated(epoch=2, content=guidance, pairs=(pair,), prev_hard=0.0, curr_hard=1.0)),
        ("meta/e02", MetaSkillWritten(epoch=2, content="Small edits help.")),
        verdict("slow/e02", "force_accept", GUIDED, None),
        verdict("final", "final", GUIDED, 0.5),
        attempt("test", "test", "x1", SEED, 0.0, "test"),
        attempt("test", "test", "x1", BETTER, 1.0, "test"),
        attempt("test", "test", "x1", GUIDED, 1.0, "test"),
        ("finished", Finished(baseline_test=seed_test, best_test=best_test, final_test=best_test)),
    ]  # fmt: skip


@pytest.fixture
def run() -> list[Keyed]:
    return whole_run()


@pytest.fixture
def events(run: list[Keyed]) -> list[Event]:
    """One second apart; the second session begins after a day."""
    day = 86_400.0
    resumed = [key for key, _ in run].index("session/1/resumed")
    return [
        Event(seq=i + 1, ts=1000.0 + i + (day if i >= resumed else 0.0), key=key, body=body)  # type: ignore[arg-type]
        for i, (key, body) in enumerate(run)
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[list[Keyed]], object]:
    async def written(rows: list[Keyed]) -> Path:
        async with Journal.open(tmp_path / "run") as journal:
            for key, body in rows:
                await journal.append(key, body)
        return tmp_path / "run"

    return written
