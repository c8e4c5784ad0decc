"""Models that cannot be called: there is none, or a program calls it. Whoever asks gets a refusal."""

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


class Elsewhere:
    """The model behind an agent program: it is reached by giving the program a task, and in no other way."""

    def __init__(self, identity: str) -> None:
        self._identity = identity

    @property
    def identity(self) -> str:
        return self._identity

    async def complete(self, request: Request) -> Completion:
        raise ModelError("bad_request", f"{self._identity}: an agent program carries out tasks; it answers no calls")

    async def close(self) -> None:
        return None
