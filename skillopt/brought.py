"""Parts of a run that a caller hands over as Python values, instead of naming them in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from skillopt.agents.base import Agent
from skillopt.agents.cli.build import optimizer_model
from skillopt.agents.function import FunctionModel
from skillopt.config.schema import Config
from skillopt.envs.base import Benchmark
from skillopt.errors import ConfigError
from skillopt.model.assemble import Deployments, Gateways, assemble, caps_of, tariff_of
from skillopt.model.budget import Budget
from skillopt.model.gateway import Gateway, build_gateway
from skillopt.model.prices import Tariff
from skillopt.model.providers.nobody import Nobody
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import Provider
from skillopt.skill.document import Skill


@dataclass(frozen=True, slots=True)
class Brought:
    """None is "as the configuration says". `target` carries out tasks itself; `optimizer` answers requests."""

    benchmark: Benchmark | None = None
    skill: Skill | None = None
    target: Agent | None = None
    optimizer: Provider | None = None


NOTHING = Brought()


def gateways(config: Config, environ: Mapping[str, str], brought: Brought) -> Gateways:
    """The run's models. Only a role that the configuration plays needs an endpoint."""
    made = _assembled(config, environ, brought)
    program = None if brought.optimizer else optimizer_model(config, environ)
    if program is None:
        return made
    tariff = tariff_of(config, "optimizer", program.endpoint)
    return replace(made, optimizer=_gateway(config, program, config.model.timeout_seconds, made.budget, tariff))


def _assembled(config: Config, environ: Mapping[str, str], brought: Brought) -> Gateways:
    if brought.target is None and brought.optimizer is None:
        return assemble(config, environ)
    if brought.optimizer is None and config.model.optimizer_backend == "miner":
        brought = replace(brought, optimizer=Nobody())
    if brought.target is not None and brought.optimizer is not None:
        budget = Budget(caps_of(config))
        optimizer = _gateway(config, brought.optimizer, config.model.timeout_seconds, budget)
        return Gateways(optimizer, _no_target(config, budget), budget, Deployments(_no_deployment))
    if brought.target is not None:
        made = assemble(_borrowed(config, "target", "optimizer"), _variables(environ, "TARGET", "OPTIMIZER"))
        return replace(made, target=_no_target(config, made.budget))
    made = assemble(_borrowed(config, "optimizer", "target"), _variables(environ, "OPTIMIZER", "TARGET"))
    assert brought.optimizer is not None
    return replace(made, optimizer=_gateway(config, brought.optimizer, config.model.timeout_seconds, made.budget))


def _no_target(config: Config, budget: Budget) -> Gateway:
    return _gateway(config, FunctionModel(None, config.model.target), config.env.exec_timeout, budget)


def _gateway(
    config: Config, provider: Provider, timeout: float, budget: Budget, tariff: Tariff | None = None
) -> Gateway:
    policy = RetryPolicy(config.model.max_attempts, config.model.retry_deadline_seconds)
    return build_gateway(provider, policy=policy, timeout=timeout, budget=budget, tariff=tariff)


def _borrowed(config: Config, role: str, other: str) -> Config:
    """A role that is brought borrows the other's endpoint, so that the assembly finds two; it is never called."""
    keys = {name: value for name, value in config.model if name == other or name.startswith(f"{other}_")}
    mirrored = {f"{role}{name.removeprefix(other)}": value for name, value in keys.items()}
    known = {name: value for name, value in mirrored.items() if name in type(config.model).model_fields}
    price = {f"{role}_price_per_million_tokens": dict(config.budget)[f"{other}_price_per_million_tokens"]}
    return config.model_copy(
        update={
            "model": config.model.model_copy(update=known),
            "budget": config.budget.model_copy(update=price),
        }
    )


def _variables(environ: Mapping[str, str], role: str, other: str) -> dict[str, str]:
    """The same for variables that carry the role's name."""
    own = {name: value for name, value in environ.items() if role not in name}
    return own | {name.replace(other, role): value for name, value in own.items() if other in name}


def _no_deployment(name: str) -> Gateway:
    raise ConfigError(f"the model {name!r} cannot be reached: this run's optimizer is a function")
