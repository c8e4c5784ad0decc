"""The endpoints of those who need no address: a model in this machine's memory, and the miner, who calls nobody."""

from __future__ import annotations

import os
from collections.abc import Mapping

from skillopt.errors import ConfigError
from skillopt.model.dialects import STOCK_MODELS
from skillopt.model.endpoint import Endpoint
from skillopt.model.settings import Settings
from skillopt.model.weights import DEFAULT, cache_directory, check_name
from skillopt.types import JSON

MOST_THREADS = 8


def local(settings: Settings) -> Endpoint:
    """`model.<role>` if somebody chose it, else `model.local_model`, else the default. Nothing is downloaded here."""
    chosen = settings.model if settings.model not in STOCK_MODELS else ""
    model = chosen or settings.key("local_model").value or DEFAULT
    try:
        check_name(model)
    except ConfigError as error:
        raise ConfigError(f"model.{settings.role}: {error}") from error
    config = settings.config
    return Endpoint(
        base_url=f"local:{cache_directory(settings.environ)}",
        model=model,
        backend="local",
        wire="local",
        takes_effort=False,
        extra={
            "layout": config.get("local_layout") or "",
            "source": config.get("local_source") or "auto",
            "threads": config.get("local_threads") or min(MOST_THREADS, os.cpu_count() or 1),
            "slots": config.get("local_slots") or 1,
            "context": config.get("local_context") or 4096,
            "max_tokens": config.get("local_max_tokens") or 1024,
            **(_choices(config) if settings.role == "target" else {}),
        },
        takes_schema=True,
        key_variable="",
    )


def _choices(config: Mapping[str, JSON]) -> dict[str, JSON]:
    """The replies a target is held to; of a model that writes edits nobody wants one out of a list."""
    choices = config.get("local_choices")
    return {"choices": list(choices), "choose": config.get("local_choose") or "grammar"} if choices else {}


def nobody(settings: Settings) -> Endpoint:
    if settings.role != "optimizer":
        raise ConfigError("model.target_backend: the miner writes edits and cannot do tasks; it is for the optimizer")
    return Endpoint("none:", "miner", backend="miner", wire="none", takes_effort=False, key_variable="")
