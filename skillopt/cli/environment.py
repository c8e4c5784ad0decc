"""The environment a command works with: the real one, and below it what a `.env` file here says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def environment() -> Mapping[str, str]:
    """Variables from `.env` fill gaps only, and are never printed."""
    from skillopt.model.dotenv import with_env_file

    file = Path(".env")
    return with_env_file(file.read_text(encoding="utf-8"), os.environ) if file.is_file() else os.environ
