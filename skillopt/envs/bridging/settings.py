"""An adapter's settings are its constructor's named parameters: the run's under their flat names, the rest options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, cast, get_type_hints

from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError

from skillopt.config.schema import Config
from skillopt.envs.base import Options
from skillopt.envs.batch import EnvAdapter
from skillopt.errors import PluginError
from skillopt.types import JSON


class AdapterOptions(Options):
    model_config = ConfigDict(protected_namespaces=(), arbitrary_types_allowed=True)


def options_of(adapter: type[EnvAdapter]) -> type[Options]:
    """A checked model of the parameters that are not settings of every run."""
    own = {name: p for name, p in _parameters(adapter).items() if name not in _flat_names()}
    hints = _hints(adapter)
    try:
        return _model(adapter, {name: (hints.get(name, Any), _field(p)) for name, p in own.items()})
    except PydanticSchemaGenerationError:
        return _model(adapter, {name: (Any, _field(p)) for name, p in own.items()})


def built(adapter: type[EnvAdapter], values: Mapping[str, JSON]) -> EnvAdapter:
    """The adapter, from those values that its constructor names."""
    absent = sorted(adapter.__abstractmethods__)
    if absent:
        raise PluginError(f"{adapter.__name__} does not define {', '.join(absent)}; an EnvAdapter has to.")
    names = _parameters(adapter)
    return adapter(**{name: value for name, value in values.items() if name in names})


def _parameters(adapter: type[EnvAdapter]) -> dict[str, inspect.Parameter]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    signature = inspect.signature(adapter.__init__).parameters
    return {name: p for name, p in tuple(signature.items())[1:] if p.kind in named}


def _hints(adapter: type[EnvAdapter]) -> dict[str, JSON]:
    try:
        return get_type_hints(adapter.__init__)
    except (NameError, TypeError, AttributeError):
        # A name that is only imported for type checkers: the value is then taken as it is written.
        return {}


def _field(parameter: inspect.Parameter) -> JSON:
    required = parameter.default is inspect.Parameter.empty
    return (
        Field(description="Option of the adapter")
        if required
        else Field(default=parameter.default, description="Option of the adapter")
    )


def _model(adapter: type[EnvAdapter], fields: dict[str, tuple[JSON, JSON]]) -> type[Options]:
    make = cast("Any", create_model)
    return cast("type[Options]", make(f"{adapter.__name__}Options", __base__=AdapterOptions, **fields))


@cache
def _flat_names() -> frozenset[str]:
    return frozenset(Config().flat())
