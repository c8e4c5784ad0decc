"""What a run will ask for, before it asks: the quote that `--dry-run` prints and every training run shows first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt.app import Inputs, checked_inputs
from skillopt.brought import NOTHING, Brought
from skillopt.config.load import Loaded
from skillopt.config.schema import Config
from skillopt.envs.own.scoring import JUDGE, kind_of
from skillopt.model.assemble import ROLES, resolved, tariff_of
from skillopt.model.prices import Tariff
from skillopt.model.quote import ANSWER_TOKENS, SKILL_GROWTH_TOKENS, Quote, Sizes, quote, quote_evaluation
from skillopt.model.settings import Role

_SAMPLE = 20
"""Prompts looked at for the average length."""


def quote_training(loaded: Loaded, environ: Mapping[str, str], brought: Brought = NOTHING) -> Quote:
    """Check everything as a run would, and add it up. Nothing is called; a split made on the way is thrown away."""
    with TemporaryDirectory() as home:
        inputs = checked_inputs(loaded, environ=environ, run_dir=Path(home), brought=brought)
    return quote(inputs.config, _sizes(inputs), _tariffs(inputs, environ, brought))


def quote_attempts(inputs: Inputs, environ: Mapping[str, str], attempts: int) -> Quote:
    """What this many attempts at items will ask for, training aside."""
    return quote_evaluation(inputs.config, _sizes(inputs), attempts, _tariffs(inputs, environ, NOTHING))


def _sizes(inputs: Inputs) -> Sizes:
    sample = inputs.splits.train[:_SAMPLE]
    tasks = [inputs.benchmark.task(item, "") for item in sample]
    return Sizes(
        train=len(inputs.splits.train),
        val=len(inputs.splits.val),
        test=len(inputs.splits.test),
        prompt_chars=sum(len(task.system) + len(task.user) for task in tasks) // max(1, len(tasks)),
        skill_chars=len(inputs.skill.text),
        answer_tokens=_answer_tokens(inputs.config),
        growth_tokens=_growth_tokens(inputs.config),
        judged=kind_of(str(inputs.config.env.options.get("scorer") or "")) == JUDGE,
    )


def _answer_tokens(config: Config) -> int:
    """What an attempt may write, where that is less than one would guess."""
    limit = config.env.options.get("max_completion_tokens")
    bounds = [int(limit)] if isinstance(limit, (int, float)) else []
    bounds += [config.model.local_max_tokens] if config.model.target_backend == "local" else []
    return min(ANSWER_TOKENS, *bounds) if bounds else ANSWER_TOKENS


def _growth_tokens(config: Config) -> int:
    alone = config.model.optimizer_backend == "miner"
    return min(SKILL_GROWTH_TOKENS, config.gradient.mined_skill_tokens) if alone else SKILL_GROWTH_TOKENS


def _tariffs(inputs: Inputs, environ: Mapping[str, str], brought: Brought) -> dict[Role, Tariff | None]:
    """A role that is a function has no price we could know."""
    if brought.target is not None or brought.optimizer is not None:
        return dict.fromkeys(ROLES)
    endpoints = resolved(inputs.config, environ)
    return {role: tariff_of(inputs.config, role, endpoints[role]) for role in ROLES}
