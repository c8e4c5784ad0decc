"""What a run will ask for, before it asks: the quote that `--dry-run` prints and every training run shows first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt.app import Inputs, checked_inputs
from skillopt.brought import NOTHING, Brought
from skillopt.config.load import Loaded
from skillopt.model.assemble import ROLES, resolved, tariff_of
from skillopt.model.prices import Tariff
from skillopt.model.quote import Quote, Sizes, quote
from skillopt.model.settings import Role

_SAMPLE = 20
"""Prompts looked at for the average length."""


def quote_training(loaded: Loaded, environ: Mapping[str, str], brought: Brought = NOTHING) -> Quote:
    """Check everything as a run would, and add it up. Nothing is called; a split made on the way is thrown away."""
    with TemporaryDirectory() as home:
        inputs = checked_inputs(loaded, environ=environ, run_dir=Path(home), brought=brought)
    return quote(inputs.config, _sizes(inputs), _tariffs(inputs, environ, brought))


def _sizes(inputs: Inputs) -> Sizes:
    sample = inputs.splits.train[:_SAMPLE]
    tasks = [inputs.benchmark.task(item, "") for item in sample]
    return Sizes(
        train=len(inputs.splits.train),
        val=len(inputs.splits.val),
        test=len(inputs.splits.test),
        prompt_chars=sum(len(task.system) + len(task.user) for task in tasks) // max(1, len(tasks)),
        skill_chars=len(inputs.skill.text),
    )


def _tariffs(inputs: Inputs, environ: Mapping[str, str], brought: Brought) -> dict[Role, Tariff | None]:
    """A role that is a function has no price we could know."""
    if brought.target is not None or brought.optimizer is not None:
        return dict.fromkeys(ROLES)
    endpoints = resolved(inputs.config, environ)
    return {role: tariff_of(inputs.config, role, endpoints[role]) for role in ROLES}
