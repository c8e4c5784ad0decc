"""SearchQA that notes where its attempts run: a benchmark of somebody's own file, sent to a cluster by its place."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from skillopt.envs.searchqa.adapter import SearchQA, SearchQAOptions


class WitnessedOptions(SearchQAOptions):
    witness: str = Field(default="", description="File that gets a line for each attempt: node and process")


class Witnessed(SearchQA):
    name = "witnessed"
    Config = WitnessedOptions

    def __init__(self, options: WitnessedOptions) -> None:
        super().__init__(options)
        self._witness = Path(options.witness)

    async def attempt(self, item, skill, agent):
        with self._witness.open("a") as file:
            file.write(f"{os.environ.get('RAY_NODE_ID') or _node()} {os.getpid()} {item.id}\n")
        return await super().attempt(item, skill, agent)


def _node() -> str:
    import ray

    return ray.get_runtime_context().get_node_id() if ray.is_initialized() else "driver"
