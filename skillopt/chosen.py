"""From the name in a configuration to a benchmark and its data, here or on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.config.schema import Config
from skillopt.datasets.checks import safe_name
from skillopt.envs.base import Benchmark, DataSource, EnvAdapter
from skillopt.envs.bridge import Bridge, bridged
from skillopt.errors import ConfigError
from skillopt.registry import BENCHMARKS, is_registered_name
from skillopt.registry import load as load_plugin
from skillopt.rollout.executors import Recipe


def benchmark_of(config: Config, run_dir: Path) -> Benchmark:
    """The benchmark that the configuration names."""
    found = benchmark_class(config.env.name)
    if issubclass(found, Bridge):
        return found.for_run(config.env.options, config.flat(), run_dir)
    return found.configured(config.env.options)


def data_source(config: Config, run_dir: Path) -> DataSource:
    """Where the benchmark's rows come from; a cut by ratio is kept in the run."""
    env = config.env
    ratio = ":".join(map(str, env.split_ratio))
    generated = run_dir / "_generated_splits" / f"{label_of(env.name)}_{ratio.replace(':', '-')}_seed{env.split_seed}"
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


def benchmark_class(name: str) -> type[Benchmark]:
    """The class behind a registered name or a place."""
    found = load_plugin(BENCHMARKS, name)
    if issubclass(found, EnvAdapter):
        return bridged(found, name)
    if not issubclass(found, Benchmark):
        raise ConfigError(f"env.name: {name!r} is not a benchmark (a Benchmark or EnvAdapter of skillopt.envs.base)")
    if not any("name" in vars(base) for base in found.__mro__):
        raise ConfigError(f'env.name: {name!r} has no name; put @skillopt.benchmark("its_name") before the class')
    return found


def label_of(name: str) -> str:
    """What folders are called after a benchmark: one that is named by its place has a name of its own."""
    return name if is_registered_name(name) else safe_name(benchmark_class(name).name)


def recipe_of(config: Config, run_dir: Path, brought: Benchmark | None) -> Recipe:
    """How a node makes the run's benchmark; one that was brought as a value is sent as it is."""
    if brought is not None:
        return Recipe(_AsItIs(brought))
    # What is public holds no credential: none leaves this machine.
    return Recipe(_ByName(Config.model_validate(config.public()), run_dir.resolve()))


@dataclass(frozen=True, slots=True)
class _AsItIs:
    benchmark: Benchmark

    def __call__(self, environ: Mapping[str, str]) -> Benchmark:
        return self.benchmark.within(environ)


@dataclass(frozen=True, slots=True)
class _ByName:
    config: Config
    run_dir: Path

    def __call__(self, environ: Mapping[str, str]) -> Benchmark:
        benchmark = benchmark_of(self.config, self.run_dir).within(environ)
        if isinstance(benchmark, Bridge):
            # An adapter of the batch form is set up by loading its data.
            benchmark.load(data_source(self.config, self.run_dir))
        return benchmark
