"""The flat names of the settings, as older files, run directories and flags spell them.

A flat name is the last part of the dotted key unless it is listed here; our own keys with everyday names carry their
section, so that a benchmark option of the same name stays free.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SECTIONS = ("model", "train", "gradient", "optimizer", "evaluation", "env", "budget", "ray")

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "model.backend": "model_backend",
        "model.optimizer": "optimizer_model",
        "model.target": "target_model",
        "model.temperature": "model_temperature",
        "model.timeout_seconds": "model_timeout_seconds",
        "model.max_attempts": "model_max_attempts",
        "model.api": "model_api",
        "model.vendor": "model_vendor",
        "model.cache": "model_cache",
        "model.cache_file": "model_cache_file",
        "budget.max_tokens": "budget_max_tokens",
        "optimizer.learning_rate": "edit_budget",
        "optimizer.min_learning_rate": "min_edit_budget",
        "optimizer.meta_learning_rate": "meta_edit_budget",
        "optimizer.candidates": "candidates_per_step",
        "evaluation.gate": "gate_policy",
        "evaluation.gamma": "gate_gamma",
        "evaluation.margin": "gate_margin",
        "evaluation.alpha": "gate_alpha",
        "evaluation.block": "gate_block",
        "evaluation.tie_margin": "gate_tie_margin",
        "evaluation.screen": "gate_screen",
        "evaluation.anchors": "gate_anchors",
        "evaluation.bank": "outcome_bank",
        "env.name": "env",
        "ray.address": "ray_address",
        "ray.num_cpus": "ray_num_cpus",
        "ray.num_gpus": "ray_num_gpus",
        "ray.memory_mb": "ray_memory_mb",
        "ray.resources": "ray_resources",
        "ray.max_retries": "ray_max_retries",
        "ray.connect_seconds": "ray_connect_seconds",
    }
)

ALIASES: tuple[tuple[str, str], ...] = (
    ("model.codex_path", "model.codex_exec_path"),
    ("model.codex_cli_bin", "model.codex_exec_path"),
    ("model.codex_bin", "model.codex_exec_path"),
    ("model.sandbox", "model.codex_exec_sandbox"),
    ("model.codex_sandbox", "model.codex_exec_sandbox"),
    ("model.azure_endpoint", "model.azure_openai_endpoint"),
    ("model.azure_api_version", "model.azure_openai_api_version"),
    ("model.azure_api_key", "model.azure_openai_api_key"),
)
"""Other spellings of a key, strongest first. Within one file the key's own name wins."""

_MINIMAX = "MiniMax has one account for both roles: use the minimax_* key without the role"
IGNORED: Mapping[str, str] = MappingProxyType(
    {
        "train.steps_per_epoch": "the number of steps follows from the training items, batch_size and accumulation",
        "optimizer.meta_learning_rate": "nothing reads it",
        "gradient.max_analyst_rounds": "every analyst answers once",
        "model.codex_exec_full_auto": "use codex_exec_sandbox and codex_exec_approval_policy",
        "model.optimizer_minimax_base_url": _MINIMAX,
        "model.optimizer_minimax_api_key": _MINIMAX,
        "model.target_minimax_base_url": _MINIMAX,
        "model.target_minimax_api_key": _MINIMAX,
    }
)
"""Keys that are accepted for the sake of existing files, and have no effect; with the reason."""


def flat_name(key: str) -> str:
    return RENAMED.get(key) or key.partition(".")[2]
