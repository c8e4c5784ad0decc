"""Where attempts run. Judging, journal, gate and loop stay with the run, wherever that is."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.config.schema import Config
from skillopt.model.settings import Role
from skillopt.model.types import Provider
from skillopt.rollout.executors.base import Executor as Executor
from skillopt.rollout.executors.base import Recipe as Recipe
from skillopt.rollout.executors.local import HERE


def executor_of(config: Config, recipe: Recipe, models: Mapping[Role, Provider]) -> Executor:
    """The executor that `env.executor` names; nothing is connected yet."""
    if config.env.executor == "local":
        return HERE
    from skillopt.rollout.executors.cluster import RayExecutor
    from skillopt.rollout.executors.node import Voice

    voice = Voice(config.model.reasoning_effort or None, config.model.temperature)
    return RayExecutor(config.ray, recipe, models, voice)
