"""Where code that a model has written runs: alone, bounded, and with nothing to see but its inputs."""

from skillopt.agents.sandbox.base import INPUT, LIMITS, WORK, Ended, Limits, Ran, Sandbox, SandboxError
from skillopt.agents.sandbox.choose import Choice, sandbox
from skillopt.agents.sandbox.results import collect

__all__ = [
    "INPUT",
    "LIMITS",
    "WORK",
    "Choice",
    "Ended",
    "Limits",
    "Ran",
    "Sandbox",
    "SandboxError",
    "collect",
    "sandbox",
]
