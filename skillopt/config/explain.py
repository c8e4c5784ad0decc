"""Every setting with its value, its origin and its meaning, for `skillopt config explain`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import SecretStr

from skillopt.config.keys import KEYS
from skillopt.config.load import Loaded
from skillopt.config.schema import is_secret
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    value: str
    source: str
    help: str


def explain(loaded: Loaded) -> tuple[Row, ...]:
    """One row a key, benchmark options last. Of a credential only whether it is set is told."""
    settings = loaded.config.settings()
    public = {f"{s}.{k}": v for s, rows in loaded.config.public().items() for k, v in rows.items()}
    return tuple(
        Row(
            key,
            _credential(settings[key]) if _hidden(key, settings[key]) else _text(public[key]),
            loaded.provenance[key].source,
            KEYS[key].help if key in KEYS else loaded.option_help.get(key) or "Option of the benchmark",
        )
        for key in (*(k for k in KEYS if k in settings), *(k for k in settings if k not in KEYS))
    )


def _hidden(key: str, value: JSON) -> bool:
    return is_secret(key) or isinstance(value, SecretStr)


def _credential(value: JSON) -> str:
    return "(not set)" if value is None or value == "" else "(set)"


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
