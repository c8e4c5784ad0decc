"""What a run will ask for, before it asks: rollouts, calls by stage, tokens, money and minutes, each as a range.

A pure function of sizes. The low end is a run in which little happens (no candidate is worth a measurement), the high
end one in which everything does. Retries are in neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillopt.config.schema import Config
from skillopt.model.dialects import STOCK_MODELS
from skillopt.model.prices import Tariff
from skillopt.model.settings import Role
from skillopt.model.weights import DEFAULT, TABLE, UNKNOWN_SPEED
from skillopt.types import Usage

CHARS_PER_TOKEN = 4
SKILL_GROWTH_TOKENS = 2000
"""What a skill may gain while it is trained."""
ANSWER_TOKENS = 2000
BUSY = 2.0
"""How much slower a local model may be beside other work."""
SECONDS: Mapping[Role, tuple[float, float]] = {"target": (2.0, 20.0), "optimizer": (5.0, 60.0)}
"""How long one call takes, from a quick model to a thinking one."""


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    @classmethod
    def exactly(cls, value: float) -> Range:
        return cls(value, value)


NOTHING = Range(0, 0)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The run's data: how many items, and how many characters an item's prompt and the first skill have.

    `answer_tokens` and `growth_tokens` bound what an attempt writes and what the skill gains; with `judged` a model
    grades every attempt.
    """

    train: int
    val: int
    test: int
    prompt_chars: int = 4000
    skill_chars: int = 0
    turns: int = 1
    answer_tokens: int = ANSWER_TOKENS
    growth_tokens: int = SKILL_GROWTH_TOKENS
    judged: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One stage: its calls, and the tokens of one call; `shared` of its prompt are the same from call to call."""

    stage: str
    role: Role
    calls: Range
    prompt: Range
    answer: Range
    shared: Range = Range(0, 0)

    def cost(self, tariff: Tariff) -> Range:
        low = tariff.cost(Usage(1, round(self.prompt.low), round(self.answer.low)))
        high = tariff.cost(Usage(1, round(self.prompt.high), round(self.answer.high)))
        return self.calls * Range(low, high)


@dataclass(frozen=True, slots=True)
class Quote:
    """`cost_usd` covers the roles whose price is known; the others are in `unpriced`."""

    lines: tuple[Line, ...]
    rollouts: Range
    calls: Range
    tokens: Range
    cost_usd: Range
    minutes: Range
    unpriced: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """The numbers the stages share."""

    config: Config
    sizes: Sizes
    steps: int = field(init=False)
    val: int = field(init=False)
    test: int = field(init=False)

    def __post_init__(self) -> None:
        train, evaluation = self.config.train, self.config.evaluation
        per_step = train.batch_size * train.accumulation
        sizes = self.sizes
        object.__setattr__(self, "steps", train.num_epochs * -(-sizes.train // per_step))
        object.__setattr__(self, "val", min(sizes.val, evaluation.sel_env_num or sizes.val))
        object.__setattr__(self, "test", min(sizes.test, evaluation.test_env_num or sizes.test))

    @property
    def per_step(self) -> int:
        train = self.config.train
        return min(self.sizes.train, train.batch_size * train.accumulation)

    @property
    def later_epochs(self) -> int:
        """The first epoch has no earlier one to be compared with."""
        return max(0, self.config.train.num_epochs - 1)


def quote(config: Config, sizes: Sizes, tariffs: Mapping[Role, Tariff | None]) -> Quote:
    """The quote of a training run."""
    plan = _Plan(config, sizes)
    rollouts = _rollouts(plan)
    judged = (_judge(sizes, rollouts),) if sizes.judged else ()
    if config.model.optimizer_backend == "miner":
        # The miner asks nobody, and no step waits for an answer.
        return _summed(config, (*rollouts, *judged), 0, tariffs)
    return _summed(config, (*rollouts, *judged, *_optimizer(plan)), plan.steps, tariffs)


def quote_evaluation(config: Config, sizes: Sizes, items: int, tariffs: Mapping[Role, Tariff | None]) -> Quote:
    """The quote of an evaluation: every item once."""
    attempts = (_attempts(sizes, "eval", Range.exactly(items)),)
    return _summed(config, (*attempts, *((_judge(sizes, attempts),) if sizes.judged else ())), 0, tariffs)


def _rollouts(plan: _Plan) -> tuple[Line, ...]:
    config, sizes = plan.config, plan.sizes
    epochs = config.train.num_epochs
    compared = 2 * min(config.optimizer.slow_update_samples, sizes.train) * plan.later_epochs
    compares = config.optimizer.use_slow_update or config.optimizer.use_meta_skill
    gated = plan.steps + (plan.later_epochs if config.optimizer.slow_update_gate_with_selection else 0)
    tested = Range(plan.test, 3 * plan.test) if config.evaluation.eval_test else NOTHING
    final = plan.val if config.evaluation.eval_test else 0
    full_steps = plan.steps * config.train.batch_size * config.train.accumulation
    return (
        _attempts(sizes, "train", Range(epochs * sizes.train, min(full_steps, plan.steps * plan.per_step))),
        _attempts(sizes, "val", Range(plan.val, plan.val * (1 + gated) + final)),
        _attempts(sizes, "compare", Range(0, compared) if compares else NOTHING),
        _attempts(sizes, "test", tested),
    )


def _attempts(sizes: Sizes, stage: str, attempts: Range) -> Line:
    skill = sizes.skill_chars / CHARS_PER_TOKEN
    base, shared = sizes.prompt_chars / CHARS_PER_TOKEN + skill, Range(skill, skill + sizes.growth_tokens)
    answer = Range(min(50, sizes.answer_tokens / 4), sizes.answer_tokens)
    calls = attempts * Range(1, sizes.turns)
    return Line(stage, "target", calls, Range(base, base + sizes.growth_tokens), answer, shared)


def _judge(sizes: Sizes, attempts: Sequence[Line]) -> Line:
    """One grade for each attempt; the judge reads the task and the answer."""
    done = sum((line.calls for line in attempts), NOTHING) * Range(1, 1 / max(1, sizes.turns))
    task, rubric = sizes.prompt_chars / CHARS_PER_TOKEN, Range(300, 1000)
    return Line("judge", "optimizer", done, Range(task, task + sizes.answer_tokens) + rubric, Range(50, 400))


def _optimizer(plan: _Plan) -> tuple[Line, ...]:
    config = plan.config
    steps, epochs = plan.steps, plan.later_epochs
    batches = -(-plan.per_step // config.gradient.minibatch_size)
    sides = 1 if config.gradient.failure_only else 2
    analysts = Range(0 if config.gradient.failure_only else batches, batches + sides - 1)
    if config.gradient.mine:
        # Steps of the miner ask nobody.
        analysts = Range(0, analysts.high)
    merges = Range(0, _merges(batches + sides - 1, config.gradient.merge_batch_size) + sides - 1)
    ranks = Range(0, 0 if config.optimizer.lr_control_mode == "none" else 1)
    seen = Range(1500, config.gradient.trajectory_tokens + 4000)
    each_step, each_epoch = Range.exactly(steps), Range(0, epochs)
    slow = each_epoch if config.optimizer.use_slow_update else NOTHING
    meta = each_epoch if config.optimizer.use_meta_skill else NOTHING
    return (
        Line("analyst", "optimizer", analysts * each_step, seen, Range(300, 4000)),
        Line("merge", "optimizer", merges * each_step, Range(1500, 10000), Range(300, 4000)),
        Line("ranking", "optimizer", ranks * each_step, Range(1000, 6000), Range(100, 1500)),
        Line("slow_update", "optimizer", slow, seen, Range(300, 4000)),
        Line("meta_skill", "optimizer", meta, seen, Range(300, 4000)),
    )


def _merges(patches: int, size: int) -> int:
    """Calls that make one patch of many, level by level; a group of one costs nothing."""
    calls = 0
    while patches > 1:
        whole, rest = divmod(patches, max(2, size))
        calls += whole + (rest > 1)
        patches = whole + (rest > 0)
    return calls


def _summed(config: Config, lines: tuple[Line, ...], steps: int, tariffs: Mapping[Role, Tariff | None]) -> Quote:
    rollouts = sum((line.calls for line in lines if line.role == "target"), NOTHING)
    calls = sum((line.calls for line in lines), NOTHING)
    tokens = sum((line.calls * (line.prompt + line.answer) for line in lines), NOTHING)
    priced = [(line, tariff) for line in lines if (tariff := tariffs.get(line.role)) is not None]
    roles: tuple[Role, ...] = ("optimizer", "target")
    asked = {line.role for line in lines if line.calls.high}
    return Quote(
        lines=tuple(line for line in lines if line.calls.high),
        rollouts=rollouts,
        calls=calls,
        tokens=tokens,
        cost_usd=sum((line.cost(tariff) for line, tariff in priced), NOTHING),
        minutes=_minutes(config, lines, steps),
        unpriced=tuple(role for role in roles if role in asked and tariffs.get(role) is None),
    )


def _minutes(config: Config, lines: tuple[Line, ...], steps: int) -> Range:
    """Calls side by side, as many as there are workers; a step's editors also wait for one another."""
    seconds = sum((_seconds(config, line) for line in lines), NOTHING)
    low, high = SECONDS["optimizer"]
    waits = steps and config.model.optimizer_backend != "local"
    chain = Range(low * steps, 4 * high * steps) if waits else NOTHING
    return Range((seconds.low + chain.low) / 60, (seconds.high + chain.high) / 60)


def _seconds(config: Config, line: Line) -> Range:
    model = config.model
    backends: Mapping[Role, str] = {"target": model.target_backend, "optimizer": model.optimizer_backend}
    if backends[line.role] == "local":
        return line.calls * _local_seconds(config, line)
    workers: Mapping[Role, int] = {"target": config.env.workers, "optimizer": config.gradient.analyst_workers}
    low, high = SECONDS[line.role]
    return line.calls * Range(low / workers[line.role], high / workers[line.role])


def _local_seconds(config: Config, line: Line) -> Range:
    """One call after the other on this machine; the shared part of the prompt is read once and kept."""
    model = config.model
    name = model.target if line.role == "target" else model.optimizer
    row = TABLE.get((model.local_model or DEFAULT) if name in STOCK_MODELS else name)
    reads, writes = row.speed if row else UNKNOWN_SPEED

    def seconds(prompt: float, answer: float) -> float:
        return min(prompt, model.local_context) / reads + min(answer, model.local_max_tokens) / writes

    low = seconds(line.prompt.low - line.shared.low, line.answer.low)
    return Range(low, BUSY * seconds(line.prompt.high - line.shared.high, line.answer.high))
