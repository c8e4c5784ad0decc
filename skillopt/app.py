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
from skillopt.brought import NOTHING, Brought, gateways
from skillopt.config.load import Loaded, Override, load_config
from skillopt.config.schema import Config
from skillopt.datasets.checks import Splits, safe_name
from skillopt.datasets.plan import steps_per_epoch
from skillopt.engine.evaluate import evaluate_items
from skillopt.engine.parts import analysts, epoch_passes, optimizer, reflect_settings
from skillopt.engine.run import Run
from skillopt.engine.session import Session, Watch, Watcher, session
from skillopt.engine.train import train as training_loop
from skillopt.envs.base import Benchmark, DataSource, EnvAdapter, Options
from skillopt.envs.bridge import Bridge, bridged
from skillopt.errors import ConfigError, ModelError, StageStopped
from skillopt.evaluation.gates import Strict
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
from skillopt.registry import BENCHMARKS, is_registered_name
from skillopt.registry import load as load_plugin
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
    started = _started("train", inputs, {})
    async with _session(inputs, started, watcher, on_commit) as open_run:
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
    inputs = _inputs(config, environ, run_dir, document, brought)
    items = _items(inputs, split)
    started = _started("eval", inputs, {"eval": {"split": split}})
    async with _session(inputs, started, watcher, None) as open_run:
        if open_run.view.finished is None:
            await evaluate_items(_runner(inputs, open_run.journal), document, items)
        write_evaluation(open_run.view, run_dir, skill=skill, split=split)
        return Outcome(open_run.view, run_dir, open_run.resumed)


@asynccontextmanager
async def _session(
    inputs: Inputs, started: RunStarted, watcher: Watcher | None, on_commit: CommitHook | None
) -> AsyncGenerator[Session, None]:
    """A session whose connections are closed at its end."""
    models, settings = inputs.models, inputs.config.model
    watch = Watch(watcher, models.target.stats, models.optimizer.stats)
    loop = asyncio.get_running_loop()
    effort, temperature = settings.reasoning_effort or None, settings.temperature
    try:
        async with session(inputs.run_dir, started, watch, on_commit, models.budget.booked) as open_run:
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
        await models.close()


def checked_inputs(loaded: Loaded, *, environ: Mapping[str, str], run_dir: Path, brought: Brought = NOTHING) -> Inputs:
    """Everything a training run is made of, checked and not yet paid for."""
    config = _supported(loaded.config)
    return _inputs(config, environ, run_dir, brought.skill or _seed_skill(config), brought)


def _inputs(config: Config, environ: Mapping[str, str], run_dir: Path, skill: Skill, brought: Brought) -> Inputs:
    """Check everything; nothing is called and only ratio mode writes (its split, into the run directory)."""
    if problems := unfit(config):
        raise ConfigError(problems)
    models = gateways(config, environ, brought)
    benchmark = (brought.benchmark or benchmark_of(config, run_dir)).within(environ)
    _check_abilities(benchmark, config, brought)
    splits = benchmark.load(data_source(config, run_dir))
    expected = config.train.train_size
    if expected and not config.env.limit and expected != len(splits.train):
        raise ConfigError(
            f"train.train_size is {expected}, but the training split has {len(splits.train)} items. "
            "Set train.train_size to 0 to take what the data has."
        )
    prompts = benchmark.prompts if isinstance(benchmark, Bridge) else Prompts(benchmark.prompts_dir)
    return Inputs(config, benchmark, splits, skill, prompts, models, run_dir, brought.target)


def _check_abilities(benchmark: Benchmark, config: Config, brought: Brought) -> None:
    """What the benchmark needs of whoever carries its tasks out, compared with what the target offers."""
    offers = brought.target.offers if brought.target else ChatAgent.offers
    blind = not brought.target and config.model.target_backend == "local"
    if lacking := benchmark.needs - (offers - {"images"} if blind else offers):
        raise ConfigError(
            f"{benchmark.name} needs a target with {', '.join(sorted(lacking))}; "
            f"{config.model.target_backend if not brought.target else 'the function given as target'} has none. "
            "Choose another model.target_backend, or another benchmark."
        )


def _run(inputs: Inputs, journal: Journal) -> Run:
    """Put the parts together. Every variant the loop knows is chosen here, by a value."""
    config = inputs.config
    objective, schedule = _objective(config), _schedule(inputs)
    desk = Desk(once=journal.once, ask=_asker(inputs), prompts=inputs.prompts)
    settings = reflect_settings(config, schedule, _references(inputs))
    own = adapter_analysts(inputs.benchmark, Reflect(desk, settings), inputs.splits.train, config.train.seed)
    return Run(
        config=config,
        journal=journal,
        splits=inputs.splits,
        seed_skill=inputs.skill,
        rollouts=_runner(inputs, journal),
        desk=desk,
        reflect=own or analysts(config, desk, settings, partial(_examples, inputs)),
        optimizer=optimizer(config, desk, schedule),
        gate=Strict(objective, enabled=config.evaluation.use_gate),
        objective=objective,
        epoch_passes=epoch_passes(config, objective),
    )


def _examples(inputs: Inputs) -> dict[str, Example]:
    """The training items as worked examples, where the benchmark can show them as one exchange."""
    shown = ((item.id, inputs.benchmark.example(item)) for item in inputs.splits.train)
    return {item: example for item, example in shown if example is not None}


def _references(inputs: Inputs) -> Callable[[str], str] | None:
    """Hidden references by item id, if analysts may see them. They never enter the journal."""
    items = {item.id: item for item in inputs.splits.train}
    return (lambda item: inputs.benchmark.reference(items[item])) if inputs.config.gradient.use_reference else None


def _runner(inputs: Inputs, journal: Journal) -> Runner:
    config = inputs.config
    agent = inputs.agent or ChatAgent(
        inputs.models.target,
        reasoning_effort=config.model.reasoning_effort or None,
        temperature=config.model.temperature,
        timeout=config.env.exec_timeout,
    )
    workers, max_missing = config.env.workers, config.evaluation.max_missing
    slots = asyncio.Semaphore(workers)
    return Runner(inputs.benchmark, agent, journal, slots, workers, max_missing, inputs.models.optimizer)


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


def _objective(config: Config) -> Objective:
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


def _started(kind: Literal["train", "eval"], inputs: Inputs, extra: Mapping[str, JSON]) -> RunStarted:
    """The run's fingerprint. Credentials are not in it: `public` and `flat` leave them out."""
    return RunStarted(
        kind=kind,
        skillopt=__version__,
        config={"resolved": inputs.config.public() | dict(extra), "flat": inputs.config.flat()},
        prompts=inputs.prompts.digests(),
        data=inputs.splits.digests(),
        seed_skill=inputs.skill.text,
        plan=_plan(inputs),
    )


def _seed_skill(config: Config) -> Skill:
    """A blank start, a skill file, a directory with SKILL.md, or the best skill of an earlier run."""
    if not config.env.skill_init:
        return Skill()
    path = Path(config.env.skill_init)
    best = path / "best_skill.md"
    return Skill.load(best if best.is_file() and not (path / "SKILL.md").exists() else path)


def benchmark_of(config: Config, run_dir: Path) -> Benchmark:
    """The benchmark that the configuration names."""
    found = _benchmark_class(config.env.name)
    if issubclass(found, Bridge):
        return found.for_run(config.env.options, config.flat(), run_dir)
    return found.configured(config.env.options)


def data_source(config: Config, run_dir: Path) -> DataSource:
    """Where the benchmark's rows come from; a cut by ratio is kept in the run."""
    env = config.env
    ratio = ":".join(map(str, env.split_ratio))
    generated = run_dir / "_generated_splits" / f"{_label(env.name)}_{ratio.replace(':', '-')}_seed{env.split_seed}"
    return DataSource(
        split_mode=env.split_mode,
        split_dir=env.split_dir,
        data_path=env.data_path,
        split_ratio=ratio,
        split_seed=env.split_seed,
        split_output_dir=env.split_output_dir or str(generated),
        limit=env.limit,
        seed=config.train.seed,
    )


def _items(inputs: Inputs, split: str) -> tuple[Item, ...]:
    if split == "all":
        return (*inputs.splits.train, *inputs.splits.val, *inputs.splits.test)
    items = inputs.splits.of(split)
    limit = inputs.config.evaluation.test_env_num if items is inputs.splits.test else 0
    return items[:limit] if limit else items


def _directory(config: Config, *, fresh: bool) -> Path:
    root = Path("outputs")
    if not config.env.out_root:
        home = root / _label(config.env.name)
        return new_directory(home) if fresh else default_directory(home, config.public())
    run_dir = Path(config.env.out_root)
    if fresh and (aside := set_aside(run_dir)):
        log.warning("the earlier run was moved to %s", aside)
    return run_dir


def _evaluation_directory(config: Config) -> Path:
    model = config.model.target.replace("/", "-")
    return new_directory(Path("outputs"), prefix=f"eval_{_label(config.env.name)}_{model}_")


def _benchmark_class(name: str) -> type[Benchmark]:
    found = load_plugin(BENCHMARKS, name)
    if issubclass(found, EnvAdapter):
        return bridged(found, name)
    if not issubclass(found, Benchmark):
        raise ConfigError(f"env.name: {name!r} is not a benchmark (a Benchmark or EnvAdapter of skillopt.envs.base)")
    if not any("name" in vars(base) for base in found.__mro__):
        raise ConfigError(f'env.name: {name!r} has no name; put @skillopt.benchmark("its_name") before the class')
    return found


def _label(name: str) -> str:
    """What folders are called after a benchmark: one that is named by its place has a name of its own."""
    return name if is_registered_name(name) else safe_name(_benchmark_class(name).name)


def _options_of(name: str) -> type[Options]:
    return _benchmark_class(name).Config


def _supported(config: Config) -> Config:
    """Settings that cannot hold together are refused, never ignored."""
    settings = config.optimizer
    if settings.use_skill_aware_reflection and settings.skill_update_mode == "full_rewrite_minibatch":
        raise ConfigError(
            "optimizer.use_skill_aware_reflection: cannot be used with skill_update_mode full_rewrite_minibatch: there "
            "an analyst answers with a whole document, so a lapse of the agent cannot be told from a fault of the "
            "document. Use patch or rewrite_from_suggestions, or switch one of the two off."
        )
    return config
