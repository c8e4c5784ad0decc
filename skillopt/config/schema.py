"""Every setting, its type, range, default and one-line meaning: the only place where they are written down.

The models are the door: what comes through is complete and valid, so no other room restates a default. A benchmark's
own settings live in `env.options`, already checked against that benchmark's model.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, Field, SecretStr, ValidationInfo, field_validator, model_validator

from skillopt.config.annotations import atoms
from skillopt.config.names import SECTIONS, flat_name
from skillopt.config.schema_model import Model, Section
from skillopt.config.schema_ray import Ray
from skillopt.config.words import (
    AppendixSource,
    ExecutorName,
    GateMetric,
    GatePolicy,
    LrControl,
    MemoryScope,
    PairPolicy,
    Ratio,
    Scheduler,
    SplitMode,
    UpdateMode,
    Words,
    names_secret,
)
from skillopt.types import JSON


class Train(Section):
    """How long and on how much."""

    num_epochs: int = Field(default=4, ge=1, description="Epochs: passes over the training items")
    train_size: int = Field(default=0, ge=0, description="Training items expected; 0 = as many as the data has")
    batch_size: int = Field(default=40, ge=1, description="Batch size: tasks attempted before a reflection")
    accumulation: int = Field(default=1, ge=1, description="Gradient accumulation: batches gathered before one update")
    seed: int = Field(default=42, description="Seed of every random choice of the run")
    memory_scope: MemoryScope = Field(
        default="epoch", description="How long rejected edits are remembered: epoch or run"
    )
    patience: int = Field(
        default=0, ge=0, description="Early stopping: steps without a new best before the end; 0 = off"
    )
    stop_at_score: float | None = Field(
        default=None, ge=0, le=1, description="Early stopping: selection score that is enough (1 = all); null = off"
    )


class Gradient(Section):
    """The backward pass: what analysts read and how their patches are merged."""

    minibatch_size: int = Field(default=8, ge=1, description="Trajectories one analyst call reads")
    merge_batch_size: int = Field(default=8, ge=2, description="Patches one merge call joins")
    analyst_workers: int = Field(default=16, ge=1, description="Analyst and merge calls at the same time")
    failure_only: bool = Field(default=False, description="Learn from failures only; skip the analysis of successes")
    use_reference: bool = Field(
        default=False, description="Show analysts the benchmark's hidden reference of each task"
    )
    trajectory_tokens: int = Field(
        default=24000, ge=1, description="Tokens of trajectories shown to one analyst, at most"
    )
    mine: bool = Field(default=False, description="Add proposals that are mined from the training answers, no model")
    mined_skill_tokens: int = Field(default=1500, ge=50, description="Tokens up to which mined edits fill the document")


class Optimizer(Section):
    """The update rule."""

    learning_rate: int = Field(default=4, ge=1, description="Learning rate: edits per step, at most")
    min_learning_rate: int = Field(default=2, ge=1, description="Where the learning-rate decay ends")
    lr_scheduler: Scheduler = Field(default="cosine", description="Decay of the learning rate over the run")
    lr_control_mode: LrControl = Field(
        default="fixed", description="Who sets the rate: fixed (schedule), autonomous, none"
    )
    skill_update_mode: UpdateMode = Field(default="patch", description="How the document changes: edits or a rewrite")
    use_slow_update: bool = Field(default=True, description="Momentum: guidance written at the end of each epoch")
    slow_update_samples: int = Field(default=20, ge=1, description="Training items compared by the slow update")
    slow_update_gate_with_selection: bool = Field(
        default=False, description="Gate the slow update too, as in the paper"
    )
    longitudinal_pair_policy: PairPolicy = Field(
        default="mixed", description="Which compared items the slow update sees"
    )
    use_meta_skill: bool = Field(
        default=True, description="Optimizer state: advice kept across epochs for the analysts"
    )
    use_skill_aware_reflection: bool = Field(
        default=False, description="Tell faults of the skill from lapses in following it"
    )
    skill_aware_appendix_source: AppendixSource = Field(
        default="both", description="Whose reminders enter the appendix"
    )
    skill_aware_consolidate_threshold: int = Field(
        default=0, ge=0, description="Shorten the appendix above n notes; 0 = off"
    )
    candidates: int = Field(
        default=1, ge=1, le=16, description="Patches a step makes of its pool; the best one is kept"
    )
    retry_parts: int = Field(
        default=0, ge=0, le=16, description="Parts of a rejected patch that are tried alone, at most; 0 = none"
    )

    @field_validator("min_learning_rate")
    @classmethod
    def _below_the_rate(cls, value: int, info: ValidationInfo) -> int:
        rate = info.data.get("learning_rate")
        if rate is not None and value > rate:
            raise ValueError(f"must be at most optimizer.learning_rate ({rate}), got {value}")
        return value


class Evaluation(Section):
    """Validation: what a candidate must show, and on how many items."""

    use_gate: bool = Field(default=True, description="Accept a candidate only if it does better on the selection split")
    gate: GatePolicy = Field(
        default="strict", description="What a candidate must show: strict, race, certified or off (docs/guide/gates.md)"
    )
    gamma: float = Field(
        default=0.1, gt=0, lt=0.5, description="race: end once the outcome is known but for this chance"
    )
    margin: float = Field(default=0, ge=0, description="race: lead a candidate needs, in units of sqrt(0.15 n) items")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="certified: chance of any false accept in the run")
    block: int = Field(default=0, ge=0, description="race, certified: items between two looks; 0 = a tenth, at least 8")
    tie_margin: float | None = Field(
        default=None, ge=0, le=1, description="A shorter document may score this much less; 0 = ties, null = no"
    )
    screen: int = Field(default=0, ge=0, description="Training failures an edit names that are tried first; 0 = off")
    anchors: Words = Field(default=None, description="Ids of selection items that must not go from pass to fail")
    bank: str = Field(default="", description="File in which runs share their outcomes; blank = none")
    gate_metric: GateMetric = Field(default="hard", description="Score that the gate compares: hard, soft or mixed")
    gate_mixed_weight: float = Field(default=0.5, ge=0, le=1, description="Weight of soft in the mixed score")
    use_semantic_density: bool = Field(default=False, description="Add a bonus for commanding words to the gate score")
    semantic_density_weight: float = Field(default=0.05, ge=0, description="Weight of that bonus")
    leading_words: Words = Field(default=None, description="Words the bonus counts; null = the built-in list")
    sel_env_num: int = Field(default=0, ge=0, description="Selection (validation) items used; 0 = all")
    test_env_num: int = Field(default=0, ge=0, description="Test items used; 0 = all")
    eval_test: bool = Field(default=True, description="Open the test split at the end of the run")
    max_missing: float = Field(
        default=0.2, ge=0, le=1, description="Stop a stage when a larger share of items has no result"
    )


class Env(Section):
    """The benchmark and its data. Keys that are not listed here are options of the benchmark."""

    name: str = Field(default="", description="Benchmark")
    skill_init: str = Field(default="", description="Skill to start from; blank = an empty document")
    out_root: str = Field(default="", description="Output directory; blank = outputs/<benchmark>/<date_time>")
    split_mode: SplitMode = Field(
        default="ratio", description="ratio: cut data_path; split_dir: take the split from files"
    )
    split_ratio: Ratio = Field(default=(2, 1, 7), description="train:val:test in ratio mode")
    split_seed: int = Field(default=42, description="Seed of the shuffle in ratio mode")
    split_dir: str = Field(default="", description="Folder with the train, val and test items")
    data_path: str = Field(default="", description="File or folder that ratio mode cuts")
    split_output_dir: str = Field(default="", description="Where ratio mode writes the split; blank = in the run")
    exec_timeout: float = Field(default=120, gt=0, description="Seconds one attempt at a task may take")
    workers: int = Field(default=24, ge=1, description="Attempts at the same time")
    executor: ExecutorName = Field(
        default="local", description="Where attempts run: local (this machine) or ray (a cluster)"
    )
    limit: int = Field(default=0, ge=0, description="Items used of each split, for a quick trial; 0 = all")
    options: Mapping[str, JSON] = Field(
        default_factory=dict[str, JSON], repr=False, description="Options of the benchmark"
    )

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, data: JSON) -> JSON:
        if not isinstance(data, Mapping):
            return data
        given = cast("Mapping[str, JSON]", data)
        known = {k: v for k, v in given.items() if k in cls.model_fields}
        rest = {k: v for k, v in given.items() if k not in cls.model_fields}
        return known | {"options": {**(given.get("options") or {}), **rest}}


class Price(Section):
    """Dollars for a million tokens."""

    input: float = Field(ge=0, description="Dollars for a million prompt tokens")
    output: float = Field(ge=0, description="Dollars for a million answer tokens")


def _price_text(value: JSON) -> JSON:
    """`1.25:10` on the command line is what `{input: 1.25, output: 10}` is in a file."""
    if not isinstance(value, str):
        return value
    try:
        given, taken = value.split(":")
        return {"input": float(given), "output": float(taken)}
    except ValueError as error:
        raise ValueError("must be two prices, input:output, such as 1.25:10") from error


Prices = Annotated[Price | None, BeforeValidator(_price_text)]


def _price(whose: str) -> Price | None:
    return Field(default=None, description=f"Dollars per million tokens {whose}: {{input: 1.25, output: 10}}")


class Budget(Section):
    """What a run may spend, over both roles and all its sessions. At a cap it stops; a higher cap continues it."""

    max_cost_usd: float | None = Field(default=None, gt=0, description="Dollars the run may cost; null = no cap")
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens the run may use; null = no cap")
    max_calls: int | None = Field(default=None, ge=1, description="Calls the run may send; null = no cap")
    price_per_million_tokens: Prices = _price("of both models; null = the built-in list")
    optimizer_price_per_million_tokens: Prices = _price("of the optimizer")
    target_price_per_million_tokens: Prices = _price("of the target")


SECTION_TYPES: Mapping[str, type[Section]] = MappingProxyType(
    {
        "model": Model,
        "train": Train,
        "gradient": Gradient,
        "optimizer": Optimizer,
        "evaluation": Evaluation,
        "env": Env,
        "budget": Budget,
        "ray": Ray,
    }
)


class Config(Section):
    """One experiment, completely described."""

    model: Model = Model()
    train: Train = Train()
    gradient: Gradient = Gradient()
    optimizer: Optimizer = Optimizer()
    evaluation: Evaluation = Evaluation()
    env: Env = Env()
    budget: Budget = Budget()
    ray: Ray = Ray()

    def section(self, name: str) -> Section:
        by_name: dict[str, Section] = {
            "model": self.model,
            "train": self.train,
            "gradient": self.gradient,
            "optimizer": self.optimizer,
            "evaluation": self.evaluation,
            "env": self.env,
            "budget": self.budget,
            "ray": self.ray,
        }
        return by_name[name]

    def settings(self) -> dict[str, JSON]:
        """Dotted key -> value, credentials included: for the parts of the house that use them, never for a file."""
        rows = {f"{s}.{k}": v for s in SECTIONS for k, v in self.section(s) if (s, k) != ("env", "options")}
        return {f"env.{k}": v for k, v in self.env.options.items()} | rows

    def public(self) -> dict[str, JSON]:
        """Nested and JSON-able, without any credential: loads again to the same configuration."""
        nested: dict[str, JSON] = {name: {} for name in SECTIONS}
        for key, value in self._open_settings().items():
            section, _, name = key.partition(".")
            nested[section][name] = value
        return nested

    def flat(self) -> dict[str, JSON]:
        """The same as `public`, under the flat names."""
        return {flat_name(key): value for key, value in self._open_settings().items()}

    def _open_settings(self) -> dict[str, JSON]:
        return {k: _open(v) for k, v in self.settings().items() if not is_secret(k) and not isinstance(v, SecretStr)}


def is_secret(key: str) -> bool:
    """Whether a dotted key holds a credential: by type where the schema knows it, by name among benchmark options."""
    section, _, name = key.partition(".")
    if section in SECTIONS and name in (fields := SECTION_TYPES[section].model_fields):
        return SecretStr in atoms(fields[name].annotation)
    return names_secret(name)


def _open(value: JSON) -> JSON:
    """A JSON value with tuples as lists and without credentials at any depth."""
    if isinstance(value, BaseModel):
        return _open(value.model_dump())
    if isinstance(value, Mapping):
        rows = cast("Mapping[str, JSON]", value).items()
        return {str(k): _open(v) for k, v in rows if not names_secret(str(k)) and not isinstance(v, SecretStr)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_open(v) for v in cast("tuple[JSON, ...]", tuple(value)) if not isinstance(v, SecretStr)]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
