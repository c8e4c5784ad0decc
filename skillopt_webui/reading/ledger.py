"""What pages need beside the read model, kept as events come: accounts, decisions, items, the last milestones.

`RunView` answers most questions by walking all results; a page that is refreshed every second must not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillopt.journal.events import (
    Decided,
    Event,
    Merged,
    MetaSkillWritten,
    NotesConsolidated,
    RateDecided,
    Reflected,
    Rewritten,
    RolloutDone,
    Selected,
    SlowUpdated,
)
from skillopt.journal.places import StepName
from skillopt.journal.view import RunView
from skillopt.progress.lines import Milestones
from skillopt.types import Decision, Rollout, Usage

RECENT = 200
"""Milestone lines that are kept."""


@dataclass(slots=True)
class Account:
    """A running total; adding to it makes no new object."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retries: int = 0
    unpriced: int = 0
    cost_usd: float = 0.0

    def add(self, usage: Usage) -> None:
        self.calls += usage.calls
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.retries += usage.retries
        self.unpriced += usage.unpriced
        self.cost_usd += usage.cost_usd

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Attempt(NamedTuple):
    """One rollout and where its line lies."""

    seq: int
    offset: int
    length: int
    at: str
    stage: str
    rollout: Rollout


@dataclass(slots=True)
class ItemRow:
    """An item and all attempts at it, oldest first."""

    id: str
    digest: str
    kind: str
    task: str
    attempts: list[Attempt] = field(default_factory=list[Attempt])


class Verdict(NamedTuple):
    """A decision, when it fell, and the best score after it."""

    decision: Decision
    ts: float
    number: int
    epoch: int
    best: float | None


class Milestone(NamedTuple):
    ts: float
    text: str


@dataclass(slots=True)
class Ledger:
    accounts: dict[tuple[str, str], Account] = field(default_factory=dict[tuple[str, str], Account])
    """By role and stage label."""
    items: dict[str, ItemRow] = field(default_factory=dict[str, ItemRow])
    """By item digest, in the order of their first attempt."""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """Item id -> digest; edits and flips name items by id."""
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    recent: deque[Milestone] = field(default_factory=lambda: deque[Milestone](maxlen=RECENT))
    last_ts: float = 0.0
    _milestones: Milestones = field(default_factory=Milestones)

    def take(self, view: RunView, event: Event, offset: int, length: int, task: str) -> None:
        """Take in an event that the view already knows."""
        self.last_ts = event.ts
        body = event.body
        if isinstance(body, RolloutDone):
            self._rolled(body, Attempt(event.seq, offset, length, body.at, body.stage, body.rollout), task)
        elif isinstance(body, Decided):
            self._decided(view, body.decision, event.ts)
        else:
            self._spend(event)
        self.recent.extend(Milestone(event.ts, line) for line in self._milestones.of(view, event))

    def by_role(self) -> Mapping[str, Account]:
        total: dict[str, Account] = {}
        for (role, _), account in self.accounts.items():
            _join(total.setdefault(role, Account()), account)
        return total

    def total(self) -> Account:
        total = Account()
        for account in self.accounts.values():
            _join(total, account)
        return total

    def _rolled(self, body: RolloutDone, attempt: Attempt, task: str) -> None:
        rollout = body.rollout
        row = self.items.get(rollout.item_digest)
        if row is None:
            row = ItemRow(rollout.item, rollout.item_digest, rollout.kind, task)
            self.items[rollout.item_digest] = row
            self.ids.setdefault(rollout.item, rollout.item_digest)
        row.attempts.append(attempt)
        self._book("target", "rollout", rollout.usage)
        if rollout.judging.calls:
            self._book("optimizer", "judge", rollout.judging)

    def _decided(self, view: RunView, decision: Decision, ts: float) -> None:
        name = StepName.parse(decision.at)
        number = (name.epoch - 1) * view.plan.get("steps_per_epoch", 0) + name.step if name else view.last_step
        best = view.state.best_score if view.state else None
        self.verdicts.append(Verdict(decision, ts, number, name.epoch if name else 0, best))

    def _spend(self, event: Event) -> None:
        match event.body:
            case Reflected(reflection=reflection):
                self._book("optimizer", "analyst", reflection.usage)
            case Merged(usage=usage):
                self._book("optimizer", "merge", usage)
            case Selected(usage=usage):
                self._book("optimizer", "ranking", usage)
            case RateDecided(usage=usage):
                self._book("optimizer", "learning rate", usage)
            case Rewritten(usage=usage):
                self._book("optimizer", "rewrite", usage)
            case NotesConsolidated(usage=usage):
                self._book("optimizer", "appendix", usage)
            case SlowUpdated(usage=usage):
                self._book("optimizer", "slow update", usage)
            case MetaSkillWritten(usage=usage):
                self._book("optimizer", "meta skill", usage)
            case _:
                pass

    def _book(self, role: str, label: str, usage: Usage) -> None:
        if usage.calls:
            self.accounts.setdefault((role, label), Account()).add(usage)


def _join(total: Account, part: Account) -> None:
    total.calls += part.calls
    total.prompt_tokens += part.prompt_tokens
    total.completion_tokens += part.completion_tokens
    total.retries += part.retries
    total.unpriced += part.unpriced
    total.cost_usd += part.cost_usd
