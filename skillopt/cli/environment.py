"""The environment a command works with: the real one, and below it what a `.env` file here says."""

from __future__ import annotations

from skillopt.running import environment

__all__ = ["environment"]
