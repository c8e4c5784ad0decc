"""The vocabulary of the settings: every closed set of words, with the older spellings that mean the same.

A word is compared without regard to case and outer blanks. Anything outside the sets is refused: a misspelt mode that
quietly becomes the default trains the wrong experiment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator

from skillopt.types import JSON


def _spelled(aliases: Mapping[str, str]) -> Callable[[JSON], JSON]:
    def canonical(value: JSON) -> JSON:
        if not isinstance(value, str):
            return value
        word = value.strip().lower()
        return aliases.get(word, word)

    return canonical


def _gate_word(value: JSON) -> JSON:
    """YAML reads a bare `off` as false."""
    if isinstance(value, bool):
        return "strict" if value else "off"
    return value.strip().lower() if isinstance(value, str) else value


def _same(*groups: tuple[str, ...]) -> Mapping[str, str]:
    """Alias table from groups whose first word is the name all the others stand for."""
    return MappingProxyType({alias: group[0] for group in groups for alias in group[1:]})


WORD = BeforeValidator(_spelled({}))

LABEL_ALIASES = _same(
    ("azure_openai", "azure", "azure-openai", ""),
    ("codex", "openai"),
    ("claude_chat", "claude", "anthropic"),
    ("cursor_exec", "cursor", "cursor_agent"),
    ("copilot_chat", "copilot", "copilot_cli", "github_copilot"),
    ("qwen_chat", "qwen"),
    ("minimax_chat", "minimax"),
    ("openai_compatible", "openai_compatible_chat", "openai-compatible", "compat"),
)
ROLE_ALIASES = MappingProxyType(
    {**LABEL_ALIASES, "azure": "openai_chat", "azure-openai": "openai_chat", "azure_openai": "openai_chat"}
    | {"": "openai_chat", "openai": "codex_exec", "codex": "codex_exec"}
)

Label = Annotated[
    Literal[
        "azure_openai", "openai_chat", "openai_compatible", "codex", "codex_exec", "claude_chat", "claude_code_exec",
        "cursor_exec", "copilot_chat", "copilot_exec", "qwen_chat", "minimax_chat", "litellm", "local",
    ],
    BeforeValidator(_spelled(LABEL_ALIASES)),
]  # fmt: skip
OptimizerBackend = Annotated[
    Literal[
        "openai_chat", "openai_compatible", "claude_chat", "qwen_chat", "minimax_chat", "copilot_chat", "codex_exec",
        "litellm", "local", "miner",
    ],
    BeforeValidator(_spelled(ROLE_ALIASES)),
]  # fmt: skip
TargetBackend = Annotated[
    Literal[
        "openai_chat", "openai_compatible", "claude_chat", "qwen_chat", "minimax_chat", "copilot_chat", "codex_exec",
        "claude_code_exec", "cursor_exec", "copilot_exec", "litellm", "local",
    ],
    BeforeValidator(_spelled(ROLE_ALIASES)),
]  # fmt: skip

Effort = Annotated[Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"], WORD]
AuthMode = Annotated[
    Literal["", "api_key", "azure_cli", "managed_identity", "openai_compatible"],
    BeforeValidator(
        _spelled(
            _same(
                ("api_key", "key"),
                ("managed_identity", "aad", "azure_ad"),
                ("openai_compatible", "compat", "openai"),
            )
        )
    ),
]
UseSdk = Annotated[
    Literal["", "auto", "true", "false"],
    BeforeValidator(_spelled(_same(("true", "1", "yes", "on", "sdk"), ("false", "0", "no", "off", "cli")))),
]
ThinkingMode = Annotated[
    Literal["", "server_default", "enabled", "disabled"],
    BeforeValidator(
        _spelled(
            _same(
                ("server_default", "server-default", "unset", "auto", "none", "null"),
                ("enabled", "enable", "1", "true", "yes", "on"),
                ("disabled", "disable", "0", "false", "no", "off"),
            )
        )
    ),
]
Api = Annotated[Literal["", "auto", "chat", "responses"], WORD]
LocalLayout = Annotated[Literal["", "chat", "document"], WORD]
LocalChoose = Annotated[Literal["grammar", "likelihood"], WORD]
LocalSource = Annotated[Literal["auto", "index", "hub"], WORD]
Caching = Annotated[Literal["off", "optimizer", "all"], WORD]
ExecSandbox = Annotated[Literal["auto", "none"], WORD]
CodexSandbox = Annotated[Literal["", "read-only", "workspace-write", "danger-full-access"], WORD]
CodexApproval = Annotated[Literal["", "never", "on-request", "on-failure", "untrusted"], WORD]
CursorSandbox = Annotated[Literal["", "enabled", "disabled"], WORD]
MinimaxRegion = Annotated[
    Literal["", "global_en", "cn_zh"],
    BeforeValidator(_spelled(_same(("global_en", "global-en"), ("cn_zh", "cn-zh")))),
]

Scheduler = Annotated[Literal["constant", "linear", "cosine", "autonomous"], WORD]
LrControl = Annotated[
    Literal["fixed", "autonomous", "none"],
    BeforeValidator(
        _spelled(
            _same(
                ("fixed", "manual", "scheduler", "scheduled", ""),
                ("autonomous", "auto", "optimizer"),
                ("none", "off", "no_lr", "false"),
            )
        )
    ),
]
UpdateMode = Annotated[
    Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"],
    BeforeValidator(
        _spelled(
            _same(
                ("patch", "edits", ""),
                ("rewrite_from_suggestions", "rewrite", "suggestions", "rewrite_suggestions"),
                ("full_rewrite_minibatch", "full_rewrite", "minibatch_full_rewrite", "skill_rewrite_minibatch"),
            )
        )
    ),
]
PairPolicy = Annotated[
    Literal["mixed", "changed", "unchanged"],
    BeforeValidator(
        _spelled(
            _same(
                ("mixed", "default", "random", "all"),
                ("changed", "change", "delta", "10_01", "01_10"),
                ("unchanged", "stable", "same", "00_11"),
            )
        )
    ),
]
AppendixSource = Annotated[Literal["both", "failure_only"], WORD]
MemoryScope = Annotated[Literal["epoch", "run"], WORD]
GatePolicy = Annotated[Literal["strict", "race", "certified", "off"], BeforeValidator(_gate_word)]
GateMetric = Annotated[Literal["hard", "soft", "mixed"], WORD]
ExecutorName = Annotated[Literal["local", "ray"], WORD]
SplitMode = Annotated[Literal["ratio", "split_dir"], WORD]


def _ratio(value: JSON) -> JSON:
    parts: JSON = re.split(r"[:,]", value) if isinstance(value, str) else value
    if isinstance(parts, (list, tuple)) and len(parts) == 3:
        numbers = tuple(int(p) for p in parts if not isinstance(p, bool) and re.fullmatch(r"\s*\d+\s*", str(p)))
        if len(numbers) == 3 and min(numbers) > 0:
            return numbers
    raise ValueError("must be three positive whole numbers train:val:test, such as 2:1:7")


def _listed(value: JSON) -> JSON:
    words: JSON = value.split(",") if isinstance(value, str) else value
    if isinstance(words, (list, tuple)):
        return tuple(w.strip() if isinstance(w, str) else w for w in words if w != "") or None
    return value


def _flag_word(value: JSON) -> JSON:
    words = {"true": True, "false": False, "": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


Ratio = Annotated[tuple[int, int, int], BeforeValidator(_ratio)]
Words = Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]
QuotedBool = Annotated[bool, BeforeValidator(_flag_word)]
"""A boolean that older files write in quotes (`minimax_enable_thinking: "false"`)."""

_SECRET_NAME = re.compile(r"(^|[_-])(api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd)($|[_-])")


def names_secret(name: str) -> bool:
    """Whether a setting's name says that its value is a credential (`max_tokens` and the like do not)."""
    return _SECRET_NAME.search(name.lower()) is not None
