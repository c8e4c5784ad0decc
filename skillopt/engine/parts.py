"""From the configuration's words to the parts in which runs differ: analysts, optimizer, work at an epoch's end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from skillopt.config.schema import Config
from skillopt.engine.epoch import meta_skill, slow_update
from skillopt.engine.run import EpochPass
from skillopt.evaluation.gates import Certified, Gate, Guarded, Off, Race, Strict
from skillopt.evaluation.objective import Objective
from skillopt.gradient.desk import Desk
from skillopt.gradient.in_turn import InTurn
from skillopt.gradient.miner import Analysts, Miner, MinerSettings
from skillopt.gradient.reflect import Reflect, ReflectSettings
from skillopt.optimizer.build import UPDATE_MODES, build_optimizer
from skillopt.optimizer.recipe import Optimizer, Settings
from skillopt.optimizer.schedules import Schedule
from skillopt.skill.examples import Example
from skillopt.types import Source


def reflect_settings(
    config: Config, schedule: Schedule, reference: Callable[[str], str] | None = None
) -> ReflectSettings:
    """How analysts work. Without a learning rate they have no budget either."""
    gradient, settings = config.gradient, config.optimizer
    heard: dict[str, tuple[Source, ...]] = {"both": ("failure", "success"), "failure_only": ("failure",)}
    return ReflectSettings(
        minibatch_size=gradient.minibatch_size,
        failure_only=gradient.failure_only,
        schedule=None if settings.lr_control_mode == "none" else schedule,
        tokens=gradient.trajectory_tokens,
        mode=UPDATE_MODES[settings.skill_update_mode].mode,
        notes_from=heard[settings.skill_aware_appendix_source] if settings.use_skill_aware_reflection else (),
        reference=reference,
    )


def analysts(
    config: Config, desk: Desk, settings: ReflectSettings, examples: Callable[[], Mapping[str, Example]]
) -> Analysts:
    """Who reads the rollouts: a model's analysts, the miner, or the two in turn."""
    alone = config.model.optimizer_backend == "miner"
    if not alone and not config.gradient.mine:
        return Reflect(desk, settings)
    mining = MinerSettings(examples(), config.train.seed, settings.schedule, config.gradient.mined_skill_tokens)
    miner = Miner(desk, mining)
    return miner if alone else InTurn(miner, Reflect(desk, settings))


def optimizer(config: Config, desk: Desk, schedule: Schedule) -> Optimizer:
    return build_optimizer(
        desk,
        update_mode=config.optimizer.skill_update_mode,
        lr_control=config.optimizer.lr_control_mode,
        schedule=schedule,
        settings=Settings(
            merge_batch_size=config.gradient.merge_batch_size,
            rewrite_tokens=config.model.rewrite_max_completion_tokens,
            notes_threshold=config.optimizer.skill_aware_consolidate_threshold,
            candidates=config.optimizer.candidates,
        ),
    )


def gate(config: Config, objective: Objective, steps: int) -> Gate:
    """The policy of `evaluation.gate` (`use_gate: false` is `off`), with its screen and anchors."""
    chosen = config.evaluation
    if chosen.gate == "off" or not chosen.use_gate:
        return Off(objective)
    policies: dict[str, Callable[[], Gate]] = {
        "strict": lambda: Strict(objective, chosen.tie_margin),
        "race": lambda: Race(objective, chosen.gamma, chosen.margin, chosen.block, chosen.tie_margin),
        "certified": lambda: Certified(objective, chosen.alpha, looks(config, steps), chosen.block),
    }
    policy, anchors = policies[chosen.gate](), frozenset(chosen.anchors or ())
    return Guarded(policy, chosen.screen, anchors) if chosen.screen or anchors else policy


def promise(config: Config, objective: Objective, steps: int, items: int) -> str | None:
    """What the gate can and cannot accept on so many selection items, where that is worth saying beforehand."""
    chosen = config.evaluation
    if chosen.gate != "certified" or not chosen.use_gate:
        return None
    return Certified(objective, chosen.alpha, looks(config, steps), chosen.block).promise(items)


def looks(config: Config, steps: int) -> int:
    """How many candidates a run of so many steps may judge."""
    settings = config.optimizer
    slow = config.train.num_epochs if settings.use_slow_update and settings.slow_update_gate_with_selection else 0
    return steps * (settings.candidates + settings.retry_parts) + slow


def epoch_passes(config: Config, objective: Objective, steps: int) -> tuple[EpochPass, ...]:
    """A gated slow update has the steps' gate, and the strict one where that is off."""
    settings = config.optimizer
    used = gate(config, objective, steps)
    own = Strict(objective) if isinstance(used, Off) else used
    slow: EpochPass = partial(slow_update, gate=own if settings.slow_update_gate_with_selection else None)
    wanted = ((slow, settings.use_slow_update), (meta_skill, settings.use_meta_skill))
    return tuple(epoch_pass for epoch_pass, used in wanted if used)
