"""SkillOpt trains a Markdown skill document for a frozen agent.

The public names are loaded when first used, so that `skillopt --help` and `import skillopt` stay instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillopt.api import evaluate as evaluate
    from skillopt.api import train as train
    from skillopt.envs.base import Benchmark as Benchmark
    from skillopt.envs.base import EnvAdapter as EnvAdapter
    from skillopt.registry import benchmark as benchmark
    from skillopt.skill.document import Skill as Skill
    from skillopt.types import Edit as Edit
    from skillopt.types import Patch as Patch

__version__ = "0.2.0"

_HOMES = {
    "train": "skillopt.api",
    "evaluate": "skillopt.api",
    "Benchmark": "skillopt.envs.base",
    "EnvAdapter": "skillopt.envs.base",
    "benchmark": "skillopt.registry",
    "Skill": "skillopt.skill.document",
    "Edit": "skillopt.types",
    "Patch": "skillopt.types",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'skillopt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
