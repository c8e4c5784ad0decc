"""What may differ when a run is continued, and what differs.

Only settings that cannot change a result may: how fast, how patiently, from where, and into which folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.config.names import SECTIONS
from skillopt.config.schema import Config, is_secret
from skillopt.config.schema_ray import Ray
from skillopt.types import JSON

_PREFIXES = ("", "optimizer_", "target_")

RESULT_NEUTRAL: frozenset[str] = frozenset(
    {
        "env.workers",
        "env.executor",
        "env.max_api_workers",
        "env.data_root",  # the content of what lies there is in the items' digests
        "env.image_root",
        "env.engine_timeout",
        "env.out_root",
        "gradient.analyst_workers",
        "evaluation.max_missing",
        "model.timeout_seconds",
        "model.max_attempts",
        "model.retry_deadline_seconds",
        "model.max_concurrency",
        "model.requests_per_minute",
        "model.tokens_per_minute",
        "model.cache_file",
        "model.copilot_chat_timeout",
        "budget.max_cost_usd",
        "budget.max_tokens",
        "budget.max_calls",
        *(f"ray.{name}" for name in Ray.model_fields),
        *(f"budget.{p}price_per_million_tokens" for p in _PREFIXES),
        *(f"model.{p}qwen_chat_timeout_seconds" for p in _PREFIXES),
        *(f"model.{p}openai_compatible_timeout_seconds" for p in _PREFIXES),
        *(f"model.{p}azure_openai_auth_mode" for p in _PREFIXES),
        *(f"model.{p}azure_openai_ad_scope" for p in _PREFIXES),
        *(f"model.{p}azure_openai_managed_identity_client_id" for p in _PREFIXES),
    }
)


@dataclass(frozen=True, slots=True)
class Difference:
    key: str
    old: JSON
    new: JSON

    def __str__(self) -> str:
        return f"{self.key}: was {self.old!r}, now {self.new!r}"


def differences(old_public: Mapping[str, JSON], new_public: Mapping[str, JSON]) -> tuple[Difference, ...]:
    """Keys whose values differ, in the schema's order. A key that one side does not have counts as its default."""
    defaults = _dotted(Config().public())
    old, new = defaults | _dotted(old_public), defaults | _dotted(new_public)
    keys = dict.fromkeys((*new, *old))
    return tuple(
        Difference(k, old.get(k), new.get(k))
        for k in keys
        if k not in RESULT_NEUTRAL and not is_secret(k) and old.get(k) != new.get(k)
    )


def differing(old_public: Mapping[str, JSON], new_public: Mapping[str, JSON]) -> tuple[str, ...]:
    """The dotted keys of `differences`."""
    return tuple(d.key for d in differences(old_public, new_public))


def _dotted(public: Mapping[str, JSON]) -> dict[str, JSON]:
    return {f"{s}.{k}": v for s in SECTIONS for k, v in (public.get(s) or {}).items()}
