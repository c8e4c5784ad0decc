"""The journal's records: one tagged union, read and written through pydantic.

Every paid-for, slow or random result is one event. Bodies hold the frozen core values themselves, so what the loop
passes on and what the disk holds are the same thing. A new field needs a default, so that old journals stay readable.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from skillopt.types import JSON, Decision, Patch, Reflection, Rollout, Tally, Usage

VERSION = 1


class Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RunStarted(Body):
    """The fingerprint of the experiment; resuming compares against it. `config` never holds a credential."""

    type: Literal["run_started"] = "run_started"
    kind: Literal["train", "eval"] = "train"
    skillopt: str
    config: dict[str, JSON]
    prompts: dict[str, str]
    data: dict[str, str]
    seed_skill: str
    plan: dict[str, int] = {}
    program: dict[str, str] = {}
    """The agent program that is the target, if one is: backend, version, file, box."""


class RunResumed(Body):
    """A process took the run up again. Only views read it."""

    type: Literal["run_resumed"] = "run_resumed"


class RunStopped(Body):
    """A process left the run before its end, and why. `spent` is what its budget had booked, failed calls included."""

    type: Literal["run_stopped"] = "run_stopped"
    reason: str
    spent: Usage = Usage()


class StageStarted(Body):
    """A stage has begun: gives progress its total and timing its start. `of` counts expected results."""

    type: Literal["stage_started"] = "stage_started"
    at: str
    stage: str
    of: int = 0


class RolloutDone(Body):
    """One attempt at one item. `stage` says what it was for: train, val, test, slow or eval."""

    type: Literal["rollout"] = "rollout"
    at: str
    stage: str
    rollout: Rollout
    source: Literal["", "bank"] = ""
    """"bank": paid for by an earlier run, and taken over."""


class Reflected(Body):
    type: Literal["reflection"] = "reflection"
    at: str
    index: int
    reflection: Reflection
    of: int = 1
    """How many came with it from one call: an adapter's own reflect answers with several at once."""


class Merged(Body):
    """One merge call. `fallback` says why the model's answer was not used, when it was not."""

    type: Literal["merge"] = "merge"
    at: str
    side: Literal["failure", "success", "final"]
    level: int
    patch: Patch
    fallback: str | None = None
    usage: Usage = Usage()


class Selected(Body):
    """The learning rate at work: which of the merged edits are applied. `pool` is the patch before clipping."""

    type: Literal["select"] = "select"
    at: str
    pool: Patch
    patch: Patch
    budget: int | None
    mode: str = "fixed"
    fallback: str | None = None
    usage: Usage = Usage()


class RateDecided(Body):
    """The optimizer's own learning rate for a step. `fallback`: the answer was of no use, so nothing is applied."""

    type: Literal["rate"] = "rate"
    at: str
    learning_rate: int
    raw_learning_rate: JSON = None
    available_update_items: int
    clamped: bool = False
    fallback: bool = False
    reasoning: str = ""
    confidence: str = ""
    risk_notes: tuple[str, ...] = ()
    raw_response: str = ""
    error: str | None = None
    usage: Usage = Usage()


class Rewritten(Body):
    """The document written from suggestions ("" = none, and `lost` says why)."""

    type: Literal["rewrite"] = "rewrite"
    at: str
    document: str
    reasoning: str = ""
    change_summary: tuple[str, ...] = ()
    lost: str | None = None
    usage: Usage = Usage()


class NotesConsolidated(Body):
    """A shorter appendix. `after` equals `before` where the answer was of no use, and `lost` says why."""

    type: Literal["consolidate"] = "consolidate"
    at: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    lost: str | None = None
    usage: Usage = Usage()


class Decided(Body):
    type: Literal["decision"] = "decision"
    decision: Decision


class Pair(BaseModel):
    """One item under two consecutive skills."""

    model_config = ConfigDict(frozen=True)
    id: str
    task: str
    category: Literal["regressed", "persistent_fail", "improved", "stable_success"]
    prev: dict[str, JSON]
    curr: dict[str, JSON]


class SlowUpdated(Body):
    """The longitudinal comparison of one epoch and the guidance written from it ("" = none)."""

    type: Literal["slow_update"] = "slow_update"
    epoch: int
    content: str
    reasoning: str = ""
    lost: str | None = None
    prev_hard: float | None = None
    curr_hard: float | None = None
    pairs: tuple[Pair, ...] = ()
    all_pairs: tuple[Pair, ...] = ()
    """All that were compared, where the policy kept only some."""
    usage: Usage = Usage()


class MetaSkillWritten(Body):
    """Cross-epoch memory for the optimizer. `lost` keeps the old memory in force."""

    type: Literal["meta_skill"] = "meta_skill"
    epoch: int
    content: str
    reasoning: str = ""
    lost: str | None = None
    usage: Usage = Usage()


class Finished(Body):
    """The end of a run: test tallies of the seed, the best and the final skill (None where not measured)."""

    type: Literal["finished"] = "finished"
    baseline_test: Tally | None = None
    best_test: Tally | None = None
    final_test: Tally | None = None


AnyBody = Annotated[
    RunStarted
    | RunResumed
    | RunStopped
    | StageStarted
    | RolloutDone
    | Reflected
    | Merged
    | RateDecided
    | Selected
    | Rewritten
    | NotesConsolidated
    | Decided
    | SlowUpdated
    | MetaSkillWritten
    | Finished,
    Field(discriminator="type"),
]


class Event(BaseModel):
    """One line of `events.jsonl`. `seq` has no gaps; `key` names the work, and no key appears twice."""

    # A NaN from a grader would otherwise be written as null, which no `float` field reads back.
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")
    v: int = VERSION
    seq: int
    ts: float
    key: str
    body: AnyBody


EVENT = TypeAdapter(Event)
