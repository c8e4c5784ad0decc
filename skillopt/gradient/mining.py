"""What cannot be done without a model, said before the run: the miner proposes edits and answers no questions."""

from __future__ import annotations

from skillopt.config.schema import Config
from skillopt.envs.own.scoring import JUDGE, kind_of

_ALONE = "model.optimizer_backend: miner"


def unfit(config: Config) -> tuple[str, ...]:
    """The settings that do not hold together with mining, each with what to do; none when they do."""
    settings, alone = config.optimizer, config.model.optimizer_backend == "miner"
    problems: list[str] = []
    if alone and settings.lr_control_mode == "autonomous":
        problems.append(f"optimizer.lr_control_mode: autonomous asks a model, and {_ALONE} has none; use fixed or none")
    if alone and settings.skill_update_mode != "patch":
        mode = settings.skill_update_mode
        problems.append(f"optimizer.skill_update_mode: {mode} asks a model, and {_ALONE} has none; use patch")
    if not alone and config.gradient.mine and settings.skill_update_mode == "full_rewrite_minibatch":
        problems.append(
            "gradient.mine: mined edits cannot enter a document that is written anew as a whole; use "
            "optimizer.skill_update_mode: patch, or leave gradient.mine off"
        )
    if alone and kind_of(str(config.env.options.get("scorer") or "")) == JUDGE:
        problems.append(
            f"env.scorer: judge grades with the optimizer's model, and {_ALONE} has none. Name a model that can grade "
            "(--optimizer_backend and --optimizer_model, with its key) and add gradient.mine: true to mine as well"
        )
    return tuple(problems)
