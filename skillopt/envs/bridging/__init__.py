"""The parts of `skillopt.envs.bridge`: settings, rows, environments, calls, and what comes back from them."""
