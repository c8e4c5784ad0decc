"""The model of an optimizer that has none. Whoever asks it gets a refusal, which every stage knows how to live with."""

from __future__ import annotations

from skillopt.errors import ModelError
from skillopt.model.types import Completion, Request


class Nobody:
    """A `Provider` that never answers and never costs."""

    @property
    def identity(self) -> str:
        return "miner"

    async def complete(self, request: Request) -> Completion:
        raise ModelError("bad_request", f"the miner calls no model, so there is nobody to do this ({request.stage})")

    async def close(self) -> None:
        return None
