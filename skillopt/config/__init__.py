"""Configuration: one schema, one loader, one table of flags."""

from skillopt.config.backends import Choice, Roles, expand_backends
from skillopt.config.compare import RESULT_NEUTRAL, Difference, differences, differing
from skillopt.config.explain import Row, explain
from skillopt.config.keys import FLAT_NAMES, KEYS
from skillopt.config.legacy import FLAGS, Flag, overrides_from
from skillopt.config.load import Loaded, Override, Provenance, load_config, parse_cfg_options
from skillopt.config.schema import Config, Env, Evaluation, Gradient, Optimizer, Train
from skillopt.config.schema_model import Model

__all__ = [
    "FLAGS",
    "FLAT_NAMES",
    "KEYS",
    "RESULT_NEUTRAL",
    "Choice",
    "Config",
    "Difference",
    "Env",
    "Evaluation",
    "Flag",
    "Gradient",
    "Loaded",
    "Model",
    "Optimizer",
    "Override",
    "Provenance",
    "Roles",
    "Row",
    "Train",
    "differences",
    "differing",
    "expand_backends",
    "explain",
    "load_config",
    "overrides_from",
    "parse_cfg_options",
]
