"""From the configuration to agent programs: which there are, where they lie, and what they may reach."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from skillopt.agents.cli.agent import CliAgent
from skillopt.agents.cli.base import Cli
from skillopt.agents.cli.box import box
from skillopt.agents.cli.claude import ClaudeCode
from skillopt.agents.cli.codex import Codex
from skillopt.agents.cli.copilot import Copilot
from skillopt.agents.cli.found import find
from skillopt.agents.cli.model import CliModel
from skillopt.config.schema import Config
from skillopt.errors import ConfigError
from skillopt.model.assemble import tariff_of
from skillopt.model.budget import Budget
from skillopt.model.credentials import token_source
from skillopt.model.resolve import resolve
from skillopt.model.retry import RetryPolicy
from skillopt.model.settings import Role, Settings
from skillopt.model.weights import cache_directory

log = logging.getLogger(__name__)

CLIS: Mapping[str, type[Cli]] = {cli.name: cli for cli in (Codex, ClaudeCode, Copilot)}
"""A further program is one more file and its name here."""
_PROCESSES_PER_CORE = 4


def target_agent(config: Config, environ: Mapping[str, str], budget: Budget) -> CliAgent | None:
    """The program that `model.target_backend` names; None where it names a model."""
    made = _agent(config, environ, "target", config.env.exec_timeout, config.env.workers)
    return replace(made, budget=budget) if made else None


def optimizer_model(config: Config, environ: Mapping[str, str]) -> CliModel | None:
    """The same for `model.optimizer_backend`."""
    made = _agent(config, environ, "optimizer", config.model.timeout_seconds, config.gradient.analyst_workers)
    return CliModel(made) if made else None


def _agent(config: Config, environ: Mapping[str, str], role: Role, timeout: float, workers: int) -> CliAgent | None:
    kind = CLIS.get(config.model.target_backend if role == "target" else config.model.optimizer_backend)
    if kind is None:
        return None
    settings = Settings(dict(config.model), role, environ)
    cli, endpoint = kind.of(settings), resolve(dict(config.model), role, environ)
    made = box(config.model.exec_sandbox)
    if isinstance(cli, Codex) and cli.network and made.isolated:
        raise ConfigError(
            "model.codex_exec_network_access: a program in its box has no network; leave it off, or set "
            "model.exec_sandbox: none"
        )
    if not made.isolated:
        log.warning("%s runs without a box: its commands can read your files and the answers of the data.", cli.name)
    return CliAgent(
        cli=cli,
        program=find(kind, cli.path, environ),
        box=made,
        endpoint=endpoint,
        timeout=timeout,
        # A program takes a processor while it starts and some hundred megabytes while it runs.
        slots=asyncio.Semaphore(min(workers, _PROCESSES_PER_CORE * (os.cpu_count() or 1))),
        policy=RetryPolicy(config.model.max_attempts, config.model.retry_deadline_seconds),
        details=config.model.codex_trace_to_optimizer,
        tariff=tariff_of(config, role, endpoint),
        tokens=token_source(endpoint.sign_in) if endpoint.sign_in else None,
        parent=None if made.isolated else _open_place(environ),
    )


def _open_place(environ: Mapping[str, str]) -> Path:
    """Codex keeps no helpers below a temporary folder, so without a box the rooms lie elsewhere."""
    place = cache_directory(environ).parent / "agents"
    place.mkdir(parents=True, exist_ok=True)
    return place
