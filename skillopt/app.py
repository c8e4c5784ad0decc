"""The composition root: the only file that knows every room. Configuration in, a finished run out.

Everything that can be wrong with the input is found here, before the first model call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel

from skillopt import __version__
from skillopt.agents.base import Agent
from skillopt.agents.chat import ChatAgent
from skillopt.agents.cli.agent import CliAgent
from skillopt.agents.cli.build import target_agent
from skillopt.brought import NOTHING, Brought, gateways
from skillopt.chosen import benchmark_class, label_of, recipe_of
from skillopt.chosen import benchmark_of as benchmark_of
from skillopt.chosen import data_source as data_source
from skillopt.config.load import Loaded, Override, load_config
from skillopt.config.schema import Config
from skillopt.datasets.checks import Splits
from skillopt.datasets.plan import steps_per_epoch
from skillopt.engine.evaluate import evaluate_items
from skillopt.engine.parts import analysts, epoch_passes, gate, optimizer, promise, reflect_settings
from skillopt.engine.run import Run
from skillopt.engine.session import Session, Watch, Watcher, session
from skillopt.engine.train import train as training_loop
from skillopt.envs.base import Benchmark, Options
from skillopt.envs.bridge import Bridge
from skillopt.errors import ConfigError, ModelError, StageStopped
from skillopt.evaluation.bank import OutcomeBank
from skillopt.evaluation.objective import LEADING_WORDS, Objective
from skillopt.gradient.adapter_reflect import adapter_analysts
from skillopt.gradient.desk import Ask, Desk
from skillopt.gradient.mining import unfit
from skillopt.gradient.reflect import Reflect
from skillopt.journal.artifacts import write_evaluation
from skillopt.journal.events import RunStarted
from skillopt.journal.log import CommitHook, Journal
from skillopt.journal.runs import default_directory, new_directory, set_aside
from skillopt.journal.view import RunView
from skillopt.model.assemble import Gateways
from skillopt.model.current import bind
from skillopt.model.structured import Answer, ask
from skillopt.optimizer.schedules import Schedule, named_schedule
from skillopt.prompts import Prompt, Prompts
from skillopt.rollout.executors import Executor, executor_of
from skillopt.rollout.runner import Runner
from skillopt.skill.document import Skill
from skillopt.skill.examples import Example
from skillopt.types import JSON, Item, Usage

log = logging.getLogger(__name__)

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that has ended, or that was stopped cleanly: its read model and where it lives."""

    view: RunView
    run_dir: Path
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a run is made of, checked: no part of it has cost anything yet."""

    config: Config
    benchmark: Benchmark
    splits: Splits
    skill: Skill
    prompts: Prompts
    models: Gateways
    run_dir: Path
    executor: Executor
    agent: Agent | None = None


def load(path: Path | None, overrides: Sequence[Override] = ()) -> Loaded:
    """Read a configuration; the benchmark's own keys are checked against its own model."""
    return load_config(path, overrides, benchmark_options=_options_of)


async def run_training(
    loaded: Loaded,
    *,
    environ: Mapping[str, str],
    fresh: bool = False,
    watcher: Watcher | None = None,
    on_commit: CommitHook | None = None,
    brought: Brought = NOTHING,
) -> Outcome:
    """Train, or continue the run that is already in the output directory."""
    run_dir = _directory(loaded.config, fresh=fresh)
    inputs = checked_inputs(loaded, environ=environ, run_dir=run_dir, brought=brought)
    started = started_of("train", inputs, {})
    async with open_session(inputs, started, watcher, on_commit) as open_run:
        if open_run.view.finished is None:
            await training_loop(_run(inputs, open_run.journal))
        return Outcome(open_run.view, run_dir, open_run.resumed)


async def run_evaluation(
    loaded: Loaded,
    *,
    environ: Mapping[str, str],
    skill: Path,
    split: str = "all",
    fresh: bool = False,
    watcher: Watcher | None = None,
    brought: Brought = NOTHING,
) -> Outcome:
    """Score one document on one split, or on all; `eval_summary.json` holds the result."""
    config = loaded.config
    document = brought.skill or Skill.load(skill)
    run_dir = Path(config.env.out_root) if config.env.out_root else _evaluation_directory(config)
    if fresh:
        set_aside(run_dir)
    inputs = inputs_of(config, environ, run_dir, document, brought)
    items = _items(inputs, split)
    started = started_of("eval", inputs, {"eval": {"split": split}})
    async with open_session(inputs, started, watcher, None) as open_run:
        if open_run.view.finished is None:
            await evaluate_items(runner_of(inputs, open_run.journal), document, items)
        write_evaluation(open_run.view, run_dir, skill=skill, split=split)
        return Outcome(open_run.view, run_dir, open_run.resumed)


@asynccontextmanager
async def open_session(
    inputs: Inputs, started: RunStarted, watcher: Watcher | None, on_commit: CommitHook | None
) -> AsyncGenerator[Session, None]:
    """A session whose connections are closed at its end."""
    models, settings = inputs.models, inputs.config.model
    watch = Watch(watcher, models.target.stats, models.optimizer.stats)
    loop = asyncio.get_running_loop()
    effort, temperature = settings.reasoning_effort or None, settings.temperature
    try:
        async with session(inputs.run_dir, started, watch, on_commit, models.budget.booked) as open_run:
            if open_run.view.finished is None:
                await inputs.executor.open()
            models.budget.continue_from(sum(open_run.view.usage.values(), Usage()), open_run.view.booked)
            with bind(
                models.target,
                models.optimizer,
                loop,
                reasoning_effort=effort,
                temperature=temperature,
                deployment=models.deployment,
            ):
                yield open_run
    finally:
        await inputs.executor.close()
        await models.close()


def checked_inputs(loaded: Loaded, *, environ: Mapping[str, str], run_dir: Path, brought: Brought = NOTHING) -> Inputs:
    """Everything a training run is made of, checked and not yet paid for."""
    config = _supported(loaded.config)
    return inputs_of(config, environ, run_dir, brought.skill or _seed_skill(config), brought)


def inputs_of(config: Config, environ: Mapping[str, str], run_dir: Path, skill: Skill, brought: Brought) -> Inputs:
    """Check everything; nothing is called and only ratio mode writes (its split, into the run directory)."""
    if problems := unfit(config):
        raise ConfigError(problems)
    models = gateways(config, environ, brought)
    agent = brought.target or target_agent(config, environ, models.budget)
    benchmark = (brought.benchmark or benchmark_of(config, run_dir)).within(environ)
    _check_abilities(benchmark, config, agent)
    splits = benchmark.load(data_source(config, run_dir))
    expected = config.train.train_size
    if expected and not config.env.limit and expected != len(splits.train):
        raise ConfigError(
            f"train.train_size is {expected}, but the training split has {len(splits.train)} items. "
            "Set train.train_size to 0 to take what the data has."
        )
    prompts = benchmark.prompts if isinstance(benchmark, Bridge) else Prompts(benchmark.prompts_dir)
    executor = executor_of(config, recipe_of(config, run_dir, brought.benchmark), models.by_role())
    return Inputs(config, benchmark, splits, skill, prompts, models, run_dir, executor, agent)


def _check_abilities(benchmark: Benchmark, config: Config, agent: Agent | None) -> None:
    """What the benchmark needs of whoever carries its tasks out, compared with what the target offers."""
    offers = agent.offers if agent else ChatAgent.offers
    is_program = isinstance(agent, CliAgent)
    if is_program and isinstance(benchmark, Bridge):
        raise ConfigError(
            f"{benchmark.name} calls the target itself (chat_target); an agent program carries out whole tasks. "
            "Choose another model.target_backend."
        )
    blind = not agent and config.model.target_backend == "local"
    if lacking := benchmark.needs - (offers - {"images"} if blind else offers):
        raise ConfigError(
            f"{benchmark.name} needs a target with {', '.join(sorted(lacking))}; "
            f"{'the function given as target' if agent and not is_program else config.model.target_backend} has none. "
            "Choose another model.target_backend, or another benchmark."
        )


def _run(inputs: Inputs, journal: Journal) -> Run:
    """Put the parts together. Every variant the loop knows is chosen here, by a value."""
    config = inputs.config
    objective, schedule = objective_of(config), _schedule(inputs)
    desk = Desk(once=journal.once, ask=_asker(inputs), prompts=inputs.prompts)
    settings = reflect_settings(config, schedule, _references(inputs))
    own = adapter_analysts(inputs.benchmark, Reflect(desk, settings), inputs.splits.train, config.train.seed)
    steps = _plan(inputs)["total_steps"]
    if said := promise(config, objective, steps, len(inputs.splits.val[: config.evaluation.sel_env_num or None])):
        log.warning("%s", said)
    return Run(
        config=config,
        journal=journal,
        splits=inputs.splits,
        seed_skill=inputs.skill,
        rollouts=runner_of(inputs, journal),
        desk=desk,
        reflect=own or analysts(config, desk, settings, partial(_examples, inputs)),
        optimizer=optimizer(config, desk, schedule),
        gate=gate(config, objective, steps),
        objective=objective,
        epoch_passes=epoch_passes(config, objective, steps),
    )


def _examples(inputs: Inputs) -> dict[str, Example]:
    """The training items as worked examples, where the benchmark can show them as one exchange."""
    shown = ((item.id, inputs.benchmark.example(item)) for item in inputs.splits.train)
    return {item: example for item, example in shown if example is not None}


def _references(inputs: Inputs) -> Callable[[str], str] | None:
    """Hidden references by item id, if analysts may see them. They never enter the journal."""
    items = {item.id: item for item in inputs.splits.train}
    return (lambda item: inputs.benchmark.reference(items[item])) if inputs.config.gradient.use_reference else None


def runner_of(inputs: Inputs, journal: Journal) -> Runner:
    config = inputs.config
    agent = inputs.agent or ChatAgent(
        inputs.models.target,
        reasoning_effort=config.model.reasoning_effort or None,
        temperature=config.model.temperature,
        timeout=config.env.exec_timeout,
    )
    workers, max_missing = config.env.workers, config.evaluation.max_missing
    slots = asyncio.Semaphore(workers)
    judge, executor = inputs.models.optimizer, inputs.executor
    return Runner(inputs.benchmark, agent, journal, slots, workers, max_missing, judge, executor, _bank(inputs))


def _bank(inputs: Inputs) -> OutcomeBank | None:
    """Outcomes shared between runs, named by everything that they depend on besides document, item and replicate."""
    config = inputs.config
    if not config.evaluation.bank:
        return None
    if inputs.agent is not None:
        raise ConfigError("evaluation.bank: a function as target has no name by which its outcomes could be kept")
    setting = {
        "skillopt": __version__,
        "target": inputs.models.target.identity,
        "reasoning_effort": config.model.reasoning_effort,
        "temperature": config.model.temperature,
        "benchmark": config.env.name,
        "options": dict(config.env.options),
    }
    return OutcomeBank(Path(config.evaluation.bank).expanduser(), setting)


def _asker(inputs: Inputs) -> Ask:
    gateway = inputs.models.optimizer
    model = inputs.config.model
    efforts = {"rewrite": model.rewrite_reasoning_effort}

    async def asker(prompt: Prompt, schema: type[T], *, stage: str, max_tokens: int) -> Answer[T]:
        effort = efforts.get(stage, model.reasoning_effort) or None
        try:
            return await ask(
                gateway, prompt.system, prompt.user, schema, stage=stage, max_tokens=max_tokens, reasoning_effort=effort
            )
        except ModelError as error:
            raise StageStopped(
                f"the optimizer model gave no answer ({stage}, {error.kind}): {error}. Everything so far is kept; mend "
                "the cause and run the same command again: it continues here."
            ) from error

    return asker


def objective_of(config: Config) -> Objective:
    evaluation = config.evaluation
    return Objective(
        metric=evaluation.gate_metric,
        mixed_weight=evaluation.gate_mixed_weight,
        density_weight=evaluation.semantic_density_weight if evaluation.use_semantic_density else None,
        leading_words=frozenset(w.lower() for w in evaluation.leading_words or LEADING_WORDS),
    )


def _schedule(inputs: Inputs) -> Schedule:
    settings = inputs.config.optimizer
    total = _plan(inputs)["total_steps"]
    return named_schedule(settings.lr_scheduler, settings.learning_rate, settings.min_learning_rate, total)


def _plan(inputs: Inputs) -> dict[str, int]:
    train = inputs.config.train
    steps = steps_per_epoch(len(inputs.splits.train), train.batch_size, train.accumulation)
    sizes = {name: len(inputs.splits.of(name)) for name in ("train", "val", "test")}
    return sizes | {
        "steps_per_epoch": steps,
        "total_steps": steps * train.num_epochs,
        "epochs": train.num_epochs,
        "workers": inputs.config.env.workers,
    }


def started_of(kind: Literal["train", "eval"], inputs: Inputs, extra: Mapping[str, JSON]) -> RunStarted:
    """The run's fingerprint. Credentials are not in it: `public` and `flat` leave them out."""
    return RunStarted(
        kind=kind,
        skillopt=__version__,
        config={"resolved": inputs.config.public() | dict(extra), "flat": inputs.config.flat()},
        prompts=inputs.prompts.digests(),
        data=inputs.splits.digests(),
        seed_skill=inputs.skill.text,
        plan=_plan(inputs),
        program=inputs.agent.described if isinstance(inputs.agent, CliAgent) else {},
    )


def _seed_skill(config: Config) -> Skill:
    """A blank start, a skill file, a directory with SKILL.md, or the best skill of an earlier run."""
    if not config.env.skill_init:
        return Skill()
    path = Path(config.env.skill_init)
    best = path / "best_skill.md"
    return Skill.load(best if best.is_file() and not (path / "SKILL.md").exists() else path)


def _items(inputs: Inputs, split: str) -> tuple[Item, ...]:
    if split == "all":
        return (*inputs.splits.train, *inputs.splits.val, *inputs.splits.test)
    items = inputs.splits.of(split)
    limit = inputs.config.evaluation.test_env_num if items is inputs.splits.test else 0
    return items[:limit] if limit else items


def _directory(config: Config, *, fresh: bool) -> Path:
    root = Path("outputs")
    if not config.env.out_root:
        home = root / label_of(config.env.name)
        return new_directory(home) if fresh else default_directory(home, config.public())
    run_dir = Path(config.env.out_root)
    if fresh and (aside := set_aside(run_dir)):
        log.warning("the earlier run was moved to %s", aside)
    return run_dir


def _evaluation_directory(config: Config) -> Path:
    model = config.model.target.replace("/", "-")
    return new_directory(Path("outputs"), prefix=f"eval_{label_of(config.env.name)}_{model}_")


def _options_of(name: str) -> type[Options]:
    return benchmark_class(name).Config


def _supported(config: Config) -> Config:
    """Settings that cannot hold together are refused, never ignored."""
    settings = config.optimizer
    if settings.use_skill_aware_reflection and settings.skill_update_mode == "full_rewrite_minibatch":
        raise ConfigError(
            "optimizer.use_skill_aware_reflection: cannot be used with skill_update_mode full_rewrite_minibatch: there "
            "an analyst answers with a whole document, so a lapse of the agent cannot be told from a fault of the "
            "document. Use patch or rewrite_from_suggestions, or switch one of the two off."
        )
    if settings.skill_update_mode != "patch" and (settings.candidates > 1 or settings.retry_parts):
        raise ConfigError(
            "optimizer.candidates and optimizer.retry_parts take a patch of edits apart, and skill_update_mode "
            f"{settings.skill_update_mode} has none: use skill_update_mode patch, or candidates 1 and retry_parts 0."
        )
    return config
