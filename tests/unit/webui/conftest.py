"""A small run, written event by event, so that a test can look at it half-way."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import encode
from skillopt.journal.events import (
    AnyBody,
    Decided,
    Event,
    Finished,
    Merged,
    RolloutDone,
    RunStarted,
    RunStopped,
    Selected,
    StageStarted,
)
from skillopt.skill.document import Skill
from skillopt.types import Decision, Edit, EditReport, Failure, Patch, Rollout, Score, Tally, Turn, Usage, digest

SEED = "# Rules\n\nBe brief.\n"
BETTER = "# Rules\n\nBe brief.\n\nGive the year alone.\n"
EDIT = Edit("append", "Give the year alone.", why="two dates were too long", source_type="failure", support=("a", "b"))
CONFIG = {
    "resolved": {
        "env": {"name": "searchqa"},
        "model": {"target": "small", "optimizer": "large"},
        "budget": {"max_cost_usd": 2.0},
    }
}


class Writer:
    """Appends whole lines to a journal, as a run does."""

    SEED, BETTER = SEED, BETTER

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "events.jsonl"
        self.seq = 0
        directory.mkdir(parents=True, exist_ok=True)
        self.blobs = Blobs(directory / "blobs")

    def put(self, body: AnyBody, key: str = "") -> None:
        with self.path.open("ab") as file:
            file.write(self.line(body, key))

    def line(self, body: AnyBody, key: str = "") -> bytes:
        self.seq += 1
        event = Event(seq=self.seq, ts=1000.0 + self.seq, key=key or f"k{self.seq}", body=body)
        return encode(event, self.blobs.put)

    def start(self, *, steps: int = 2, skill: str = SEED) -> None:
        plan = {"total_steps": steps, "steps_per_epoch": steps, "epochs": 1}
        self.put(RunStarted(skillopt="0", config=CONFIG, prompts={}, data={}, seed_skill=skill, plan=plan))

    def attempt(self, item: str, right: bool | None, *, at: str = "baseline", stage: str = "val", skill: str = SEED,
                text: str = "an answer") -> None:  # fmt: skip
        score = None if right is None else Score(float(right), float(right), {"fail_reason": "" if right else "wrong"})
        rollout = Rollout(
            item, digest(item), Skill.parse(skill).digest, at, "qa", score,
            Failure("timeout", "no answer in 120 s") if right is None else None, answer=text,
            trajectory=(Turn("system", "You answer."), Turn("user", f"Question {item}?"), Turn("assistant", text)),
            usage=Usage(calls=1, prompt_tokens=100, completion_tokens=10, retries=1, cost_usd=0.01),
            task=f"Question {item}?",
        )  # fmt: skip
        self.put(RolloutDone(at=at, stage=stage, rollout=rollout))

    def decide(self, at: str, action: str, candidate: str, objective: float, **more: object) -> None:
        tally = Tally(2, objective, objective)
        made = Decision(at, action, candidate, digest(SEED), "step_0001", objective, tally, **more)
        self.put(Decided(decision=made))

    def whole(self) -> None:
        """Baseline, one accepted step, one rejected step, the end."""
        self.start()
        self.put(StageStarted(at="baseline", stage="evaluate", of=2))
        self.attempt("a", False)
        self.attempt("b", False)
        self.decide("baseline", "baseline", SEED, 0.0)
        self.put(StageStarted(at="e01s01", stage="rollout", of=2))
        self.attempt("a", False, at="e01s01", stage="train")
        self.attempt("c", None, at="e01s01", stage="train")
        patch = Patch((EDIT,), "years")
        pool = Patch((EDIT, Edit("append", "Never guess.")))
        self.put(Merged(at="e01s01", side="failure", level=1, patch=patch, usage=Usage(calls=1, prompt_tokens=50)))
        self.put(Selected(at="e01s01", pool=pool, patch=patch, budget=1))
        self.put(StageStarted(at="e01s01", stage="evaluate", of=2))
        self.attempt("a", True, at="e01s01", skill=BETTER)
        self.attempt("b", False, at="e01s01", skill=BETTER)
        report = EditReport(1, "append", "", "Give the year", "applied_append")
        self.decide("e01s01", "accept_new_best", BETTER, 0.5, patch=patch, reports=(report,), gained=("a",), bar=0.0,
                    reason="0.5 is above 0.0")  # fmt: skip
        self.decide("e01s02", "reject", BETTER + "\nWorse.\n", 0.5, bar=0.5, reason="0.5 is not above 0.5")
        self.put(Finished())

    def stopped(self, reason: str = "interrupted") -> None:
        self.put(RunStopped(reason=reason))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "outputs" / "searchqa" / "one")


@pytest.fixture
def new_writer() -> type[Writer]:
    return Writer
