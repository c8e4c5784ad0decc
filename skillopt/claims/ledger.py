"""A run laid out for claims: every rollout with its place, every decision with the state it was made in.

A `RunView` answers what a run looks like; a claim asks what was known when, so the order of the journal is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.claims.selection import Measured
from skillopt.errors import JournalError
from skillopt.evaluation.objective import LEADING_WORDS, Objective
from skillopt.journal.events import Decided, Event, RolloutDone
from skillopt.journal.records import flat_config
from skillopt.journal.scan import read_events
from skillopt.journal.state import State
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill
from skillopt.types import Decision, Rollout

VAL, TEST = "val", "test"
"""The draws of selection and test rollouts; replicates have draws of their own."""


@dataclass(frozen=True, slots=True)
class Row:
    """A rollout, its key and where in the journal it stands; `state` is the one it was made in."""

    seq: int
    key: str
    at: str
    stage: str
    rollout: Rollout
    state: State


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision with the state before it."""

    seq: int
    state: State
    decision: Decision

    @property
    def after(self) -> State:
        return self.state.apply(self.decision)

    @property
    def moved(self) -> bool:
        """Whether the current document changed."""
        return self.after.current.digest != self.state.current.digest


@dataclass(frozen=True, slots=True)
class Ledger:
    view: RunView
    rows: tuple[Row, ...]
    judged: tuple[Judged, ...]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Ledger:
        view, rows, judged = RunView(), list[Row](), list[Judged]()
        for event in events:
            state = view.state or State.start(Skill())
            body = event.body
            if isinstance(body, RolloutDone):
                kept = body.rollout.without_trajectory()
                rows.append(Row(event.seq, event.key, body.at, body.stage, kept, state))
            elif isinstance(body, Decided):
                judged.append(Judged(event.seq, state, body.decision))
            view.apply(event)
        return cls(view, tuple(rows), tuple(judged))

    @classmethod
    def read(cls, run_dir: Path) -> Ledger:
        return cls.of(read_events(run_dir))

    @property
    def seed(self) -> Skill:
        return Skill.parse(self.view.seed_skill)

    @property
    def best(self) -> Skill:
        return self.view.state.best if self.view.state else self.seed

    @property
    def objective(self) -> Objective:
        return objective_of(self.view)

    def drawn(self, draw: str) -> dict[str, dict[str, Rollout]]:
        """Skill digest -> item digest -> rollout, for one draw: what was attempted together and may be compared."""
        found: dict[str, dict[str, Rollout]] = {}
        for row in self.rows:
            if row.rollout.draw == draw:
                found.setdefault(row.rollout.skill, {})[row.rollout.item_digest] = row.rollout
        return found

    def tree(self) -> tuple[list[Measured], int | None]:
        """The measured documents in order, each with the one it was made from, and the place of the best."""
        objective, places = self.objective, dict[str, int]()
        parents: list[int | None] = []
        outcomes: list[dict[str, float]] = []
        for row in self.rows:
            rollout = row.rollout
            if rollout.draw != VAL or rollout.score is None:
                continue
            if rollout.skill not in places:
                known = (row.state.current.digest, row.state.bar_skill)
                above = next((places[d] for d in known if d in places), 0 if places else None)
                places[rollout.skill] = len(parents)
                parents.append(above)
                outcomes.append({})
            outcomes[places[rollout.skill]][rollout.item_digest] = objective.of_item(rollout.score)
        nodes = [Measured(above, found) for above, found in zip(parents, outcomes, strict=True)]
        return nodes, places.get(self.best.digest)


def objective_of(view: RunView) -> Objective:
    """The number that the run's gate compared, from the configuration on record."""
    flat = flat_config(view)
    words = cast("list[str] | None", flat.get("leading_words"))
    return Objective(
        metric=str(flat.get("gate_metric", "hard")),
        mixed_weight=float(flat.get("gate_mixed_weight", 0.5)),
        density_weight=float(flat.get("semantic_density_weight", 0.05)) if flat.get("use_semantic_density") else None,
        leading_words=frozenset(w.lower() for w in words) if words else LEADING_WORDS,
    )


def finished_training(run_dir: Path) -> Ledger:
    """The ledger of a training run that has ended; anything else is refused in words."""
    ledger = Ledger.read(run_dir)
    if ledger.view.kind != "train":
        raise JournalError(f"{run_dir.name} is an evaluation, not a training run; there is nothing to claim of it.")
    if ledger.view.finished is None:
        status = ledger.view.status.name
        raise JournalError(f"the run {run_dir.name} has not finished ({status}); continue it first, then ask again.")
    return ledger


def setting(view: RunView, section: str, key: str) -> object:
    """A value of the run's own configuration; None when the journal does not say."""
    resolved = cast("Mapping[str, Mapping[str, object]]", view.config.get("resolved") or {})
    return resolved.get(section, {}).get(key)
