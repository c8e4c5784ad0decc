"""The core values: frozen, slotted, and free of behaviour that needs anything else.

Rollouts, edits and scores travel through every stage as these types; rows of dicts stay outside, at the doors.
`Edit`, `Patch` and `RolloutResult` also answer the words of the public guide (`from_dict`, `to_dict`, `extras`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

JSON = Any
"""A JSON value; typed precisely only where it is taken apart."""

Source = Literal["failure", "success"]


def digest(text: str) -> str:
    """The short name of a text: the first 16 hex digits of its SHA-256 (the reference's `skill_hash`)."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def canonical(value: JSON) -> str:
    """JSON with sorted keys and no spaces: equal values give equal texts, so a digest can name them."""
    return _CANONICAL.encode(value)


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost. A call whose provider reported nothing is counted in `unreported`, not as zero tokens.

    `cost_usd` covers the calls whose price is known; the others are counted in `unpriced`, not as free.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    unreported: int = 0
    retries: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def priced(self, cost_usd: float | None) -> Usage:
        """The same calls at this price; None is a price that nobody knows."""
        cost, unpriced = (0.0, self.calls) if cost_usd is None else (cost_usd, 0)
        return Usage(
            self.calls, self.prompt_tokens, self.completion_tokens, self.cached_tokens, self.reasoning_tokens,
            self.unreported, self.retries, self.cache_write_tokens, cost, unpriced,
        )  # fmt: skip

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.unreported + other.unreported,
            self.retries + other.retries,
            self.cache_write_tokens + other.cache_write_tokens,
            # Rounded, so that a sum does not depend on the order in which results came.
            round(self.cost_usd + other.cost_usd, 9),
            self.unpriced + other.unpriced,
        )


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to the document. `support` names the items that argued for it; `why` is the analyst's reason."""

    op: str = "append"
    content: str = ""
    target: str = ""
    why: str = ""
    source_type: str | None = None
    support_count: int | None = None
    merge_level: int | None = None
    support: tuple[str, ...] = ()
    update_origin: str = ""
    update_target: str = ""

    @classmethod
    def from_dict(cls, row: Mapping[str, JSON]) -> Edit:
        """Build from a loose row: nulls mean "not given", unknown keys are ignored."""
        return cls(
            op=str(row.get("op") or "append"),
            content=str(row.get("content") or ""),
            target=str(row.get("target") or ""),
            why=str(row.get("why") or ""),
            source_type=row.get("source_type"),
            support_count=row.get("support_count"),
            merge_level=row.get("merge_level"),
            support=tuple(str(i) for i in row.get("support") or ()),
            update_origin=str(row.get("update_origin") or ""),
            update_target=str(row.get("update_target") or ""),
        )

    def to_dict(self) -> dict[str, JSON]:
        row: dict[str, JSON] = {"op": self.op, "content": self.content}
        texts = {"target": self.target, "why": self.why, "source_type": self.source_type}
        origins = {"update_origin": self.update_origin, "update_target": self.update_target}
        row |= {k: v for k, v in (texts | origins).items() if v}
        counts = {"support_count": self.support_count, "merge_level": self.merge_level}
        row |= {k: v for k, v in counts.items() if v is not None}
        return row | ({"support": list(self.support)} if self.support else {})


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits that belong together. `notes` are reminders for the appendix region, not edits of the body."""

    edits: tuple[Edit, ...] = ()
    reasoning: str = ""
    ranking_details: Mapping[str, JSON] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, row: Mapping[str, JSON]) -> Patch:
        return cls(
            edits=tuple(Edit.from_dict(e) for e in row.get("edits") or ()),
            reasoning=str(row.get("reasoning") or ""),
            ranking_details=row.get("ranking_details"),
            notes=tuple(str(n) for n in row.get("appendix_notes") or ()),
        )

    def to_dict(self) -> dict[str, JSON]:
        row: dict[str, JSON] = {"reasoning": self.reasoning, "edits": [e.to_dict() for e in self.edits]}
        if self.ranking_details is not None:
            row["ranking_details"] = dict(self.ranking_details)
        return row | ({"appendix_notes": list(self.notes)} if self.notes else {})


@dataclass(frozen=True, slots=True)
class EditReport:
    """What became of one edit; `status` is a word of core.md section 4 (plus `skipped_ambiguous_target`)."""

    index: int
    op: str
    target: str
    content_preview: str
    status: str

    @property
    def applied(self) -> bool:
        return self.status.startswith("applied")


@dataclass(frozen=True, slots=True)
class Item:
    """One task. `digest` names its content: the same row is the same item in every split and run."""

    id: str
    split: str
    kind: str
    data: Mapping[str, JSON]
    digest: str

    @classmethod
    def make(cls, id: str, split: str, kind: str, data: Mapping[str, JSON]) -> Item:
        return cls(id, split, kind, data, digest(canonical([id, data])))


@dataclass(frozen=True, slots=True)
class Score:
    """How good an answer is: `hard` decides, `soft` gives partial credit; both in [0, 1]."""

    hard: float
    soft: float
    detail: Mapping[str, JSON] = field(default_factory=dict[str, JSON])

    @property
    def passed(self) -> bool:
        return self.hard >= 1e-9


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no score: the provider or the machine failed, not the answer. This is missing data, never a zero."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One event of a trajectory. Roles: system, user, assistant, tool, action, observation, verdict."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent did with one task, before anybody judges it."""

    answer: str
    trajectory: tuple[Turn, ...]
    usage: Usage = Usage()
    turns: int = 1
    skill_read: bool | None = None
    """Whether the skill reached the model, for agents that look for it themselves; None where the prompt held it."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """An attempt and its judgement: exactly one of `score` and `failure` is set."""

    item: str
    item_digest: str
    skill: str
    draw: str
    kind: str
    score: Score | None
    failure: Failure | None
    answer: str = ""
    trajectory: tuple[Turn, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    turns: int = 1
    judging: Usage = Usage()
    """What a model that graded the attempt used; `usage` is the target's alone."""
    task: str = ""
    """What was asked, in a line or two."""

    def __post_init__(self) -> None:
        if (self.score is None) == (self.failure is None):
            raise ValueError("a rollout has either a score or a failure")

    def without_trajectory(self) -> Rollout:
        """What is kept of it in memory: trajectories are most of a run's bytes."""
        return Rollout(
            self.item, self.item_digest, self.skill, self.draw, self.kind, self.score, self.failure, self.answer, (),
            self.usage, self.seconds, self.turns, self.judging, self.task,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """A recurring cause named by an analyst, with the items of its own group."""

    name: str
    description: str
    count: int
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """What one analyst made of one minibatch. `lost` says why there is no patch (unusable answer)."""

    source: Source
    items: tuple[str, ...]
    patch: Patch = Patch()
    patterns: tuple[Pattern, ...] = ()
    lost: str | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class StepDigest:
    """What the optimizer remembers of a step (`trajectory_digest.json`): failure patterns and rejected edits."""

    step: int
    epoch: int
    action: str
    total: int
    failed: int
    patterns: tuple[Pattern, ...] = ()
    score_before: float | None = None
    score_after: float | None = None
    rejected: tuple[Edit, ...] = ()
    also_rejected: tuple[tuple[Edit, ...], ...] = ()
    """Other patches of the step that were measured on their own and rejected."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Scores of a set of rollouts. `missing` items are in neither mean."""

    n: int
    hard: float | None
    soft: float | None
    missing: int = 0

    @classmethod
    def of(cls, rollouts: Iterable[Rollout]) -> Tally:
        rows = tuple(rollouts)
        scores = [r.score for r in rows if r.score is not None]
        if not scores:
            return cls(0, None, None, len(rows))
        hard = sum(s.hard for s in scores) / len(scores)
        soft = sum(s.soft for s in scores) / len(scores)
        return cls(len(scores), hard, soft, len(rows) - len(scores))


Action = Literal[
    "baseline", "accept_new_best", "accept", "reject", "force_accept",
    "skip_no_patches", "skip_no_change", "skip_no_rewrite", "final", "promote",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """The only record that moves the state. `objective` is the gate's number; None means "not measured"."""

    at: str
    action: Action
    candidate: str
    parent: str
    origin: str
    objective: float | None = None
    tally: Tally | None = None
    bar: float | None = None
    reason: str = ""
    patch: Patch = Patch()
    reports: tuple[EditReport, ...] = ()
    gained: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    memory: StepDigest | None = None
    of: int | None = None
    """Items that a whole measurement would have had; None where nothing was measured, and in old journals."""

    @property
    def partial(self) -> bool:
        """The gate knew enough before the last item: score and bar are those of the items in `tally`."""
        return self.of is not None and self.tally is not None and self.tally.n + self.tally.missing < self.of


@dataclass(frozen=True, slots=True)
class RolloutResult:
    """A result row of the guide's batch form. Keys that nobody knows are kept in `extras` and written flat again."""

    id: str
    hard: float
    soft: float
    n_turns: int = 0
    fail_reason: str = ""
    task_type: str = ""
    task_description: str = ""
    predicted_answer: str = ""
    question: str = ""
    reference_text: str = ""
    target_system_prompt: str = ""
    target_user_prompt: str = ""
    spreadsheet_preview: str = ""
    extras: Mapping[str, JSON] = field(default_factory=dict[str, JSON])

    @classmethod
    def from_dict(cls, row: Mapping[str, JSON]) -> RolloutResult:
        known = {k: v for k, v in row.items() if k in cls.__dataclass_fields__ and k != "extras" and v is not None}
        extras = {k: v for k, v in row.items() if k not in cls.__dataclass_fields__}
        values: dict[str, JSON] = known | {"id": str(row["id"]), "extras": {**(row.get("extras") or {}), **extras}}
        return cls(**values)

    def to_dict(self) -> dict[str, JSON]:
        row: dict[str, JSON] = {"id": self.id, "hard": self.hard, "soft": self.soft}
        rest = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in row and name != "extras"}
        return row | {name: value for name, value in rest.items() if value} | dict(self.extras)
