"""The flags of the command line as one table; the command line builds its options from it.

A flag's meaning is the description of the key it sets, so the two cannot drift apart. Flags for benchmark options have
their help here. `--max_analyst_rounds` and other flags without effect are understood, and say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from skillopt.config.keys import FLAT_NAMES, KEYS
from skillopt.config.load import Override
from skillopt.config.names import ALIASES, IGNORED
from skillopt.types import JSON

__all__ = ["FLAGS", "FLAT_NAMES", "Command", "Flag", "Kind", "overrides_from"]

Kind = Literal["str", "int", "float", "bool"]
Command = Literal["train", "eval"]
_ROLES = ("", "optimizer_", "target_")


@dataclass(frozen=True, slots=True)
class Flag:
    """`--name VALUE` sets `path`. A bool flag takes a value too: true, false, yes, no, on, off, 1 or 0."""

    name: str
    path: str
    kind: Kind
    choices: tuple[str, ...] = ()
    help: str = ""
    secret: bool = False
    commands: frozenset[Command] = frozenset({"train", "eval"})
    hidden: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_TEXTS = _words("""
    env backend optimizer_model target_model optimizer_backend target_backend reasoning_effort
    rewrite_reasoning_effort azure_endpoint azure_api_version azure_api_key minimax_region minimax_base_url
    minimax_api_key minimax_model codex_exec_path codex_exec_sandbox codex_exec_profile
    codex_exec_reasoning_effort codex_exec_use_sdk codex_exec_approval_policy claude_code_exec_path
    claude_code_exec_profile claude_code_exec_use_sdk claude_code_exec_effort cursor_exec_path
    cursor_exec_sandbox copilot_exec_path copilot_exec_home copilot_chat_optimizer_model
    copilot_chat_target_model lr_scheduler lr_control_mode skill_update_mode longitudinal_pair_policy
    skill_aware_appendix_source skill_init out_root data_path split_mode split_ratio split_dir split_output_dir
    data_root image_detail judge_model mode executor ray_address
""")
_WHOLE = _words("""
    rewrite_max_completion_tokens minimax_max_tokens claude_code_exec_max_thinking_tokens copilot_chat_timeout
    num_epochs train_size steps_per_epoch batch_size accumulation seed edit_budget min_edit_budget
    merge_batch_size minibatch_size analyst_workers sel_env_num test_env_num slow_update_samples
    skill_aware_consolidate_threshold split_seed max_steps max_turns max_api_workers workers limit
    judge_max_completion_tokens judge_retries max_analyst_rounds max_calls budget_max_tokens
""")
_REAL = ("minimax_temperature", "max_cost_usd")
_TRUTHS = _words("""
    minimax_enable_thinking codex_exec_full_auto codex_exec_network_access codex_exec_web_search
    copilot_exec_allow_all_tools codex_trace_to_optimizer eval_test use_gate failure_only use_slow_update
    use_meta_skill use_skill_aware_reflection shuffle_choices use_theorem use_sketch
""")
_BY_ROLE: tuple[tuple[Kind, str], ...] = (
    ("str", "azure_openai_endpoint azure_openai_api_version azure_openai_api_key azure_openai_auth_mode"),
    ("str", "azure_openai_ad_scope azure_openai_managed_identity_client_id"),
    ("str", "qwen_chat_base_url qwen_chat_api_key qwen_chat_thinking_mode"),
    ("float", "qwen_chat_temperature qwen_chat_timeout_seconds"),
    ("int", "qwen_chat_max_tokens"),
    ("bool", "qwen_chat_enable_thinking"),
)

_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "backend": (
            "azure_openai", "openai_compatible", "codex", "codex_exec", "claude", "claude_chat", "claude_code_exec",
            "cursor", "cursor_exec", "copilot", "copilot_chat", "copilot_exec", "qwen", "qwen_chat", "minimax",
            "minimax_chat",
        ),
        "reasoning_effort": ("", "none", "minimal", "low", "medium", "high", "xhigh", "max"),
        "lr_scheduler": ("constant", "linear", "cosine", "autonomous"),
        "lr_control_mode": ("fixed", "autonomous", "none"),
        "skill_update_mode": (
            "patch", "rewrite_from_suggestions", "rewrite", "suggestions", "full_rewrite", "full_rewrite_minibatch",
            "minibatch_full_rewrite",
        ),
        "longitudinal_pair_policy": ("mixed", "changed", "unchanged"),
        "skill_aware_appendix_source": ("both", "failure_only"),
        "split_mode": ("ratio", "split_dir"),
        "executor": ("local", "ray"),
    }
)  # fmt: skip

_OPTION_HELP: Mapping[str, str] = MappingProxyType(
    {
        "data_root": "Folder with the benchmark's own files",
        "image_detail": "Resolution at which images are shown: auto, low or high",
        "judge_model": "Model that grades answers, where the benchmark uses one",
        "judge_max_completion_tokens": "Output limit of the grading model",
        "judge_retries": "How often a failed grading is tried again",
        "mode": "Mode of the benchmark, such as single or multi",
        "max_steps": "Actions one episode may take",
        "max_turns": "Turns one attempt may take",
        "max_api_workers": "Model calls of the simulator at the same time",
        "shuffle_choices": "Shuffle the answer choices",
        "use_theorem": "Show the theorem with the question",
        "use_sketch": "Show the proof sketch with the question",
    }
)

_TRAIN_ONLY = frozenset(
    _words("""
    rewrite_reasoning_effort rewrite_max_completion_tokens codex_trace_to_optimizer skill_init lr_scheduler
    lr_control_mode skill_update_mode longitudinal_pair_policy skill_aware_appendix_source num_epochs train_size
    steps_per_epoch batch_size accumulation edit_budget min_edit_budget merge_batch_size minibatch_size
    analyst_workers sel_env_num slow_update_samples skill_aware_consolidate_threshold max_analyst_rounds
    eval_test  use_gate failure_only use_slow_update use_meta_skill use_skill_aware_reflection
    """)
)


def _flag(name: str, kind: Kind) -> Flag:
    written = FLAT_NAMES.get(name, f"env.{name}")
    path = dict(ALIASES).get(written, written)
    key = KEYS.get(path)
    return Flag(
        name=name,
        path=path,
        kind=kind,
        choices=_CHOICES.get(name, ()),
        help=key.help if key else _OPTION_HELP.get(name) or f"No effect: {IGNORED[path]}",
        secret=key is not None and key.secret,
        commands=frozenset({"train"}) if name in _TRAIN_ONLY else frozenset({"train", "eval"}),
        hidden=path in IGNORED,
    )


def _flags() -> tuple[Flag, ...]:
    plain: tuple[tuple[Kind, tuple[str, ...]], ...] = (
        ("str", _TEXTS),
        ("int", _WHOLE),
        ("float", _REAL),
        ("bool", _TRUTHS),
    )
    shared = [_flag(name, kind) for kind, names in plain for name in names]
    by_role = [_flag(role + name, kind) for role in _ROLES for kind, names in _BY_ROLE for name in _words(names)]
    return (*shared, *by_role)


FLAGS: tuple[Flag, ...] = _flags()


def overrides_from(values: Mapping[str, JSON]) -> tuple[Override, ...]:
    """Flag values, by flag name, as overrides; a value of None means the flag was not given."""
    paths = {flag.name: flag.path for flag in FLAGS}
    return tuple(Override(paths[name], value, f"--{name}") for name, value in values.items() if value is not None)
