"""The `model` section: which models play the two roles, and how each backend is reached.

Role-prefixed keys are blank by default, so a shared value is never shadowed by a role's built-in one. A blank text
means "the environment variable, then the backend's own default".
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from skillopt.config.words import (
    Api,
    AuthMode,
    Caching,
    CodexApproval,
    CodexSandbox,
    CursorSandbox,
    Effort,
    ExecSandbox,
    Label,
    LocalChoose,
    LocalLayout,
    LocalSource,
    MinimaxRegion,
    OptimizerBackend,
    QuotedBool,
    TargetBackend,
    ThinkingMode,
    UseSdk,
    Words,
)

_AD_SCOPE = "https://cognitiveservices.azure.com/.default"
BRINGS_OWN_MODEL = frozenset({"codex_exec", "claude_code_exec", "cursor_exec", "copilot_exec", "copilot_chat"})
"""Backends that choose a model themselves when none is named."""


class Section(BaseModel):
    """What all sections share: immutable, no unknown keys, no guessing between types, no input in error texts."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True, validate_default=True
    )


def _text(help: str, default: str = "") -> str:
    return Field(default, description=help)


def _secret(help: str) -> SecretStr | None:
    return Field(default=None, description=help)


def _number(help: str, *, least: float | None = None, above: float | None = None) -> float | None:
    return Field(default=None, ge=least, gt=above, description=help)


def _count(help: str) -> int | None:
    return Field(default=None, ge=1, description=help)


class Model(Section):
    """Models, backends and credentials (never written to a run's files)."""

    backend: Label = Field(
        default="azure_openai", description="Backend label; fills both roles that are not set themselves"
    )
    optimizer_backend: OptimizerBackend = Field(
        default="openai_chat", description="Backend of the optimizer, who writes edits"
    )
    target_backend: TargetBackend = Field(
        default="openai_chat", description="Backend of the target, who does the tasks"
    )
    optimizer: str = Field(
        default="gpt-5.5", description="Model or deployment that reads trajectories and writes edits"
    )
    target: str = Field(default="gpt-5.5", description="Frozen model or deployment the skill is trained for")
    reasoning_effort: Effort = Field(
        default="medium", description="Reasoning effort of both roles; blank leaves it out"
    )
    rewrite_reasoning_effort: Effort = Field(default="", description="Reasoning effort of full-document rewrites")
    rewrite_max_completion_tokens: int = Field(
        default=64000, ge=1, description="Output limit of a full-document rewrite"
    )
    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature; null = the provider's own")
    timeout_seconds: float = Field(default=300, gt=0, description="Seconds one optimizer call may take")
    max_attempts: int = Field(default=6, ge=1, description="Most attempts of one call, the first included")
    retry_deadline_seconds: float = Field(
        default=600, gt=0, description="Seconds after which a call is not tried again"
    )

    max_concurrency: int | None = _count("Calls in flight at one endpoint, at most; null = as many as workers")
    requests_per_minute: float | None = _number("Calls a minute to one endpoint, at most; null = no limit", above=0)
    tokens_per_minute: float | None = _number("Tokens a minute at one endpoint, at most; null = no limit", above=0)
    cache: Caching = Field(
        default="off", description="Answers kept for equal calls: off, optimizer, all (target only at temperature 0)"
    )
    cache_file: str = _text("File of kept answers; blank = outputs/.cache/answers.sqlite")

    api: Api = Field(default="auto", description="OpenAI routes: chat, responses, or auto = what the model needs")
    optimizer_api: Api = Field(default="", description="OpenAI routes of the optimizer; blank = as shared")
    target_api: Api = Field(default="", description="OpenAI routes of the target; blank = as shared")
    vendor: str = _text("Vendor behind openai_compatible, such as deepseek or groq, for its URL and key variable")
    optimizer_vendor: str = _text("Vendor of the optimizer; blank = as shared")
    target_vendor: str = _text("Vendor of the target; blank = as shared")

    local_model: str = _text("Local model of roles that name none: a name, a .gguf file; blank = smollm2-135m")
    local_layout: LocalLayout = Field(default="", description="How a local model is asked; blank = what suits it")
    local_source: LocalSource = Field(default="auto", description="Where weights come from: auto, index, hub")
    local_threads: int | None = _count("Threads of a local model; null = one for each core, at most 8")
    local_slots: int = Field(default=1, ge=1, description="Prompts a local model decodes together; 1 is repeatable")
    local_context: int = Field(default=4096, ge=256, description="Tokens a local model reads and writes, at most")
    local_max_tokens: int = Field(default=1024, ge=1, description="Tokens of one answer of a local model, at most")
    local_choices: Words = Field(default=None, description="The only replies a local target may give; null = any text")
    local_choose: LocalChoose = Field(
        default="grammar", description="How it chooses: grammar (writes one) or likelihood (the most likely one)"
    )

    azure_openai_endpoint: str = _text("Endpoint URL for both roles, Azure or compatible")
    azure_openai_api_version: str = _text("Azure API version for both roles", "2024-12-01-preview")
    azure_openai_api_key: SecretStr | None = _secret("Azure or OpenAI key for both roles")
    azure_openai_auth_mode: AuthMode = Field(default="", description="How both roles sign in; blank = azure_cli")
    azure_openai_ad_scope: str = _text("Token scope of Azure sign-in for both roles", _AD_SCOPE)
    azure_openai_managed_identity_client_id: str = _text("Managed identity of both roles")

    optimizer_azure_openai_endpoint: str = _text("Endpoint URL for the optimizer, Azure or compatible")
    optimizer_azure_openai_api_version: str = _text("Azure API version for the optimizer")
    optimizer_azure_openai_api_key: SecretStr | None = _secret("Azure or OpenAI key for the optimizer")
    optimizer_azure_openai_auth_mode: AuthMode = Field(
        default="", description="How the optimizer signs in; blank = as shared"
    )
    optimizer_azure_openai_ad_scope: str = _text("Token scope of Azure sign-in for the optimizer")
    optimizer_azure_openai_managed_identity_client_id: str = _text("Managed identity of the optimizer")

    target_azure_openai_endpoint: str = _text("Endpoint URL for the target, Azure or compatible")
    target_azure_openai_api_version: str = _text("Azure API version for the target")
    target_azure_openai_api_key: SecretStr | None = _secret("Azure or OpenAI key for the target")
    target_azure_openai_auth_mode: AuthMode = Field(
        default="", description="How the target signs in; blank = as shared"
    )
    target_azure_openai_ad_scope: str = _text("Token scope of Azure sign-in for the target")
    target_azure_openai_managed_identity_client_id: str = _text("Managed identity of the target")

    openai_compatible_base_url: str = _text("OpenAI-compatible server of both roles")
    openai_compatible_api_key: SecretStr | None = _secret("OpenAI-compatible key of both roles")
    openai_compatible_temperature: float | None = _number("Compatible temperature of both roles", least=0)
    openai_compatible_max_tokens: int | None = _count("Compatible output limit of both roles")
    openai_compatible_timeout_seconds: float | None = _number("Call time limit of both roles", above=0)

    optimizer_openai_compatible_base_url: str = _text("OpenAI-compatible server of the optimizer")
    optimizer_openai_compatible_api_key: SecretStr | None = _secret("OpenAI-compatible key of the optimizer")
    optimizer_openai_compatible_temperature: float | None = _number("Compatible temperature of the optimizer", least=0)
    optimizer_openai_compatible_max_tokens: int | None = _count("Compatible output limit of the optimizer")
    optimizer_openai_compatible_timeout_seconds: float | None = _number("Call time limit of the optimizer", above=0)

    target_openai_compatible_base_url: str = _text("OpenAI-compatible server of the target")
    target_openai_compatible_api_key: SecretStr | None = _secret("OpenAI-compatible key of the target")
    target_openai_compatible_temperature: float | None = _number("Compatible temperature of the target", least=0)
    target_openai_compatible_max_tokens: int | None = _count("Compatible output limit of the target")
    target_openai_compatible_timeout_seconds: float | None = _number("Call time limit of the target", above=0)

    claude_chat_base_url: str = _text("Anthropic address of both roles; blank = api.anthropic.com")
    claude_chat_api_key: SecretStr | None = _secret("Anthropic key of both roles")
    optimizer_claude_chat_base_url: str = _text("Anthropic address of the optimizer")
    optimizer_claude_chat_api_key: SecretStr | None = _secret("Anthropic key of the optimizer")
    target_claude_chat_base_url: str = _text("Anthropic address of the target")
    target_claude_chat_api_key: SecretStr | None = _secret("Anthropic key of the target")

    qwen_chat_base_url: str = _text("Qwen server (vLLM) of both roles")
    qwen_chat_api_key: SecretStr | None = _secret("Qwen server key of both roles")
    qwen_chat_temperature: float | None = _number("Qwen temperature of both roles", least=0)
    qwen_chat_timeout_seconds: float | None = _number("Qwen call time limit of both roles", above=0)
    qwen_chat_max_tokens: int | None = _count("Qwen output limit of both roles")
    qwen_chat_enable_thinking: bool | None = Field(default=None, description="Older thinking switch, both roles")
    qwen_chat_thinking_mode: ThinkingMode = Field(default="", description="Qwen thinking of both roles")

    optimizer_qwen_chat_base_url: str = _text("Qwen server (vLLM) of the optimizer")
    optimizer_qwen_chat_api_key: SecretStr | None = _secret("Qwen server key of the optimizer")
    optimizer_qwen_chat_temperature: float | None = _number("Qwen temperature of the optimizer", least=0)
    optimizer_qwen_chat_timeout_seconds: float | None = _number("Qwen call time limit of the optimizer", above=0)
    optimizer_qwen_chat_max_tokens: int | None = _count("Qwen output limit of the optimizer")
    optimizer_qwen_chat_enable_thinking: bool | None = Field(
        default=None, description="Older thinking switch, the optimizer"
    )
    optimizer_qwen_chat_thinking_mode: ThinkingMode = Field(default="", description="Qwen thinking of the optimizer")

    target_qwen_chat_base_url: str = _text("Qwen server (vLLM) of the target")
    target_qwen_chat_api_key: SecretStr | None = _secret("Qwen server key of the target")
    target_qwen_chat_temperature: float | None = _number("Qwen temperature of the target", least=0)
    target_qwen_chat_timeout_seconds: float | None = _number("Qwen call time limit of the target", above=0)
    target_qwen_chat_max_tokens: int | None = _count("Qwen output limit of the target")
    target_qwen_chat_enable_thinking: bool | None = Field(default=None, description="Older thinking switch, the target")
    target_qwen_chat_thinking_mode: ThinkingMode = Field(default="", description="Qwen thinking of the target")

    minimax_region: MinimaxRegion = Field(default="", description="MiniMax region; blank = global_en")
    minimax_base_url: str = _text("MiniMax URL; blank = the region's")
    minimax_api_key: SecretStr | None = _secret("MiniMax key")
    minimax_model: str = _text("MiniMax model, used when a MiniMax role names none", "MiniMax-M3")
    minimax_temperature: float = Field(default=0.7, ge=0, description="MiniMax temperature")
    minimax_max_tokens: int = Field(default=8000, ge=1, description="MiniMax output limit")
    minimax_enable_thinking: QuotedBool = Field(default=False, description="Let MiniMax think before it answers")

    exec_sandbox: ExecSandbox = Field(
        default="auto", description="Where an agent program runs: auto (closed off, in bubblewrap) or none"
    )
    codex_exec_path: str = _text("Codex program; blank = codex")
    codex_exec_sandbox: CodexSandbox = Field(default="", description="Codex sandbox; blank = workspace-write")
    codex_exec_profile: str = _text("Codex profile")
    codex_exec_reasoning_effort: Effort = Field(default="", description="Codex reasoning effort; blank = none")
    codex_exec_approval_policy: CodexApproval = Field(default="", description="When Codex asks; blank = never")
    codex_exec_use_sdk: UseSdk = Field(default="", description="Codex through its SDK: auto, true, false; blank = auto")
    codex_exec_network_access: bool | None = Field(default=None, description="Network for Codex's commands; null = no")
    codex_exec_web_search: bool | None = Field(default=None, description="Web search for Codex; null = no")
    codex_trace_to_optimizer: bool = Field(default=True, description="Show Codex traces to the analysts")

    claude_code_exec_path: str = _text("Claude Code program", "claude")
    claude_code_exec_profile: str = _text("Claude Code profile")
    claude_code_exec_use_sdk: UseSdk = Field(
        default="auto", description="Claude Code through its SDK: auto, true, false"
    )
    claude_code_exec_effort: Effort = Field(default="medium", description="Claude Code effort")
    claude_code_exec_max_thinking_tokens: int = Field(default=16384, ge=0, description="Claude Code thinking limit")

    cursor_exec_path: str = _text("Cursor program; blank = cursor-agent")
    cursor_exec_sandbox: CursorSandbox = Field(default="", description="Cursor sandbox; blank = enabled")
    copilot_exec_path: str = _text("Copilot program; blank = copilot")
    copilot_exec_home: str = _text("Copilot home folder")
    copilot_exec_allow_all_tools: bool | None = Field(default=None, description="Let Copilot use every tool; null = no")
    copilot_chat_optimizer_model: str = _text("Copilot model of the optimizer")
    copilot_chat_target_model: str = _text("Copilot model of the target")
    copilot_chat_timeout: int | None = _count("Seconds one Copilot call may take")

    @field_validator("optimizer", "target")
    @classmethod
    def _named(cls, value: str, info: ValidationInfo) -> str:
        backend = info.data.get(f"{info.field_name}_backend")
        if not value.strip() and backend is not None and backend not in BRINGS_OWN_MODEL:
            raise ValueError(f"must name a model: the backend {backend} has no model of its own")
        return value
