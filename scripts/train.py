"""Train a skill: `skillopt-train` under the name the guide uses."""

from skillopt.cli import train_main

_ENV_REGISTRY: dict[str, type] = {}


def _register_builtins() -> None:
    """Where the guide's step 5 adds a line. It does no harm, but a folder in `skillopt/envs` is found without it."""


if __name__ == "__main__":
    _register_builtins()
    train_main()
