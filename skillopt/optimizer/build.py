"""From the words of the configuration to an optimizer: two tables, no branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from skillopt.gradient.desk import Desk
from skillopt.gradient.mode import FULL_REWRITE, PATCH, REWRITE, Mode
from skillopt.optimizer.rate import Limit, decide_rate, scheduled, unlimited
from skillopt.optimizer.recipe import Optimizer, Recipe, Settings, full_rewrite_recipe, patch_recipe, rewrite_recipe
from skillopt.optimizer.schedules import Schedule


@dataclass(frozen=True, slots=True)
class UpdateMode:
    """A way of updating: what the analysts are asked for, and what becomes of it."""

    mode: Mode
    recipe: Recipe


UPDATE_MODES: Mapping[str, UpdateMode] = MappingProxyType(
    {
        "patch": UpdateMode(PATCH, patch_recipe),
        "rewrite_from_suggestions": UpdateMode(REWRITE, rewrite_recipe),
        "full_rewrite_minibatch": UpdateMode(FULL_REWRITE, full_rewrite_recipe),
    }
)

_LIMITS: Mapping[str, Callable[[Desk, Mode, Schedule], Limit]] = MappingProxyType(
    {
        "fixed": lambda desk, mode, schedule: scheduled(schedule),
        "autonomous": lambda desk, mode, schedule: decide_rate(desk, mode),
        "none": lambda desk, mode, schedule: unlimited(),
    }
)


def build_optimizer(
    desk: Desk, *, update_mode: str, lr_control: str, schedule: Schedule, settings: Settings
) -> Optimizer:
    """The optimizer for the words of `skill_update_mode` and `lr_control_mode`."""
    chosen = UPDATE_MODES[update_mode]
    return chosen.recipe(desk, replace(settings, limit=_LIMITS[lr_control](desk, chosen.mode, schedule)))
