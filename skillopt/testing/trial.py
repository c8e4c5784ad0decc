"""One small training run against a loopback server, for tests and plugin authors: a folder in, a view out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt import app
from skillopt.config.load import Override
from skillopt.journal.log import CommitHook
from skillopt.testing.world import write_split
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Trial:
    """A world's items in `home/split`, a run in `home/<name>`, and the settings that differ from the shipped ones."""

    home: Path
    url: str
    config: Path
    settings: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    def write_items(self, train: int, val: int, test: int, *, seed: int = 1) -> Trial:
        write_split(self.home / "split", train, val, test, seed=seed)
        return self

    def train(
        self, name: str = "run", *, fresh: bool = False, on_commit: CommitHook | None = None, **settings: JSON
    ) -> app.Outcome:
        """Train, or continue, the run `name`. Settings are dotted keys with `__` for the dot."""
        given = {"env.split_dir": str(self.home / "split"), "env.out_root": str(self.home / name)}
        given |= {"model.azure_openai_endpoint": self.url, **self.settings}
        given |= {key.replace("__", "."): value for key, value in settings.items()}
        loaded = app.load(self.config, [Override(key, value, "trial") for key, value in given.items()])
        return asyncio.run(app.run_training(loaded, environ=self.environ, fresh=fresh, on_commit=on_commit))


def without_times(value: JSON) -> JSON:
    """A record without what depends on the clock: what is left must be the same in every repetition."""
    clocks = {"timing", "wall_time_s", "total_wall_time_s", "time_s"}
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in clocks}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def outcome_of(run_dir: Path) -> dict[str, JSON]:
    """What two equal runs have in common: the history, times aside, and the deployed skill."""
    history = json.loads((run_dir / "history.json").read_text(encoding="utf-8"))
    return {"history": without_times(history), "best": (run_dir / "best_skill.md").read_text(encoding="utf-8")}
