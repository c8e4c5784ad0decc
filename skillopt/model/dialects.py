"""Vendors as rows: what is particular about one OpenAI-shaped service, and nothing that is common to all.

A backend of its own has keys `model.<prefix>_*` and variables `<PREFIX>_*`, each also with the role in front. A vendor
is a name for `model.vendor` under the backend `openai_compatible`: its address, its key's variable, its field names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from skillopt.errors import ConfigError
from skillopt.model.azure import OPENAI_URL, api_of
from skillopt.model.endpoint import Endpoint, Wire
from skillopt.model.settings import Found, Settings, address, number, plain_base, secret
from skillopt.model.thinking import Thinking, minimax_thinking, no_thinking, qwen_thinking

STOCK_MODELS = frozenset({"gpt-5.4", "gpt-5.5"})
"""Names that stand in the shipped configuration; a variable that names a model is meant to replace them."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One row. `keys` and `urls` are further variables for the key and the address, such as the vendor's own."""

    name: str
    default_url: str
    prefix: str = "openai_compatible"
    keys: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    default_model: str = ""
    needs_key: bool = True
    token_field: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    takes_effort: bool = False
    takes_schema: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    regions: Mapping[str, str] = field(default_factory=dict[str, str])
    thinking: Thinking = no_thinking
    wire: Wire = "openai"


_BACKENDS = (
    Dialect(
        "qwen_chat", "http://localhost:8000/v1", "qwen_chat", default_model="Qwen/Qwen3.5-4B", needs_key=False,
        temperature=0.7, max_tokens=8000, timeout=300.0, thinking=qwen_thinking,
    ),
    Dialect(
        "minimax_chat", "https://api.minimax.io/v1", "minimax", default_model="MiniMax-M3",
        temperature=0.7, max_tokens=8000, timeout=300.0, thinking=minimax_thinking,
        regions={"global_en": "https://api.minimax.io/v1", "cn_zh": "https://api.minimaxi.com/v1"},
    ),
    Dialect(
        "claude_chat", "https://api.anthropic.com", "claude_chat", keys=("ANTHROPIC_API_KEY",),
        urls=("ANTHROPIC_BASE_URL",), default_model="claude-sonnet-4-6", takes_effort=True, wire="anthropic",
    ),
)  # fmt: skip

_VENDORS = (
    Dialect(
        "openai", OPENAI_URL, keys=("OPENAI_API_KEY",), token_field="max_completion_tokens", takes_effort=True,
        takes_schema=True,
    ),
    Dialect("cerebras", "https://api.cerebras.ai/v1", keys=("CEREBRAS_API_KEY",)),
    Dialect("deepseek", "https://api.deepseek.com/v1", keys=("DEEPSEEK_API_KEY",)),
    Dialect("fireworks", "https://api.fireworks.ai/inference/v1", keys=("FIREWORKS_API_KEY",), takes_effort=True),
    Dialect(
        "gemini", "https://generativelanguage.googleapis.com/v1beta/openai",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"), takes_effort=True,
    ),
    Dialect("groq", "https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",), takes_effort=True),
    Dialect("mistral", "https://api.mistral.ai/v1", keys=("MISTRAL_API_KEY",)),
    Dialect("ollama", "http://localhost:11434/v1", needs_key=False, takes_effort=True, takes_schema=True),
    Dialect("openrouter", "https://openrouter.ai/api/v1", keys=("OPENROUTER_API_KEY",), takes_effort=True),
    Dialect("together", "https://api.together.xyz/v1", keys=("TOGETHER_API_KEY",)),
    Dialect("vllm", "http://localhost:8000/v1", needs_key=False, takes_schema=True),
    Dialect("xai", "https://api.x.ai/v1", keys=("XAI_API_KEY",), takes_effort=True),
)  # fmt: skip

BACKENDS: Mapping[str, Dialect] = MappingProxyType({row.name: row for row in _BACKENDS})
VENDORS: Mapping[str, Dialect] = MappingProxyType({row.name: row for row in _VENDORS})

_UNNAMED = Dialect(
    "", "", keys=("OPENAI_API_KEY",), urls=("OPENAI_BASE_URL",), needs_key=False,
    token_field="max_completion_tokens", takes_effort=True,
)  # fmt: skip


def compatible(settings: Settings) -> Endpoint:
    """`openai_compatible`: any server with OpenAI's routes. A parameter it refuses is found out by asking."""
    found = settings.key("vendor") or settings.variable(
        (f"{settings.role.upper()}_OPENAI_COMPATIBLE_VENDOR", "OPENAI_COMPATIBLE_VENDOR")
    )
    row = VENDORS.get(found.value.lower(), _UNNAMED)
    if found and row is _UNNAMED:
        raise ConfigError(
            f"{found.source}: there is no vendor {found.value!r}; use one of {', '.join(VENDORS)}, "
            "or leave it blank and give model.openai_compatible_base_url"
        )
    return endpoint_of(row, settings, backend="openai_compatible")


def spoken(row: Dialect) -> Callable[[Settings], Endpoint]:
    """The resolution of a backend that is one row."""
    return lambda settings: endpoint_of(row, settings, backend=row.name)


def endpoint_of(row: Dialect, settings: Settings, *, backend: str) -> Endpoint:
    """Address, model and credentials by a row and the house's precedence."""
    key = settings.find(row.prefix, "api_key", row.keys) or _shared_with_azure(settings, row, "api_key")
    where = _where(row, settings, key)
    parts = address(where)
    if row.wire == "anthropic":
        base_url, notes = where.value.rstrip("/").removesuffix("/v1"), ()
    else:
        base_url, notes = plain_base(parts)
    token = secret(key)
    if row.needs_key and token is None and parts.hostname == urlsplit(row.default_url).hostname:
        raise ConfigError(_no_key(row, settings))
    model = _model(row, settings)
    thinking = row.thinking(settings, model)
    limit = number(_own(row, settings, "max_tokens", row.max_tokens), least=1)
    return Endpoint(
        base_url=base_url,
        model=model,
        api_key=token,
        auth="bearer" if token else "none",
        notes=(*_notes(settings, where, key), *notes, *thinking.notes),
        backend=backend,
        wire=row.wire,
        api=api_of(settings) if backend == "openai_compatible" else "chat",
        token_field=_token_field(row, settings),
        takes_effort=row.takes_effort,
        takes_schema=row.takes_schema,
        temperature=number(_own(row, settings, "temperature", row.temperature)),
        max_tokens=int(limit) if limit else None,
        timeout=number(_own(row, settings, "timeout_seconds", row.timeout)),
        extra=thinking.extra,
        key_variable=" or ".join((*row.keys, f"{row.prefix.upper()}_API_KEY")),
    )


def _where(row: Dialect, settings: Settings, key: Found) -> Found:
    if found := settings.find(row.prefix, "base_url", row.urls):
        return found
    if found := _shared_with_azure(settings, row, "endpoint"):
        return found
    region = settings.find(row.prefix, "region") if row.regions else Found()
    if region:
        name = region.value.lower().replace("-", "_")
        if name not in row.regions:
            raise ConfigError(f"{region.source}: unknown region {region.value!r}; use {' or '.join(row.regions)}")
        return Found(row.regions[name], region.source)
    if row.default_url:
        return Found(row.default_url, f"the default of {row.name}")
    if key.source == "OPENAI_API_KEY":
        return Found(OPENAI_URL, "the default, because OPENAI_API_KEY is set and no endpoint is")
    raise ConfigError(
        f"the {settings.role} model has no endpoint. Set OPENAI_COMPATIBLE_BASE_URL "
        f"({settings.role.upper()}_OPENAI_COMPATIBLE_BASE_URL for this role only), "
        f"model.openai_compatible_base_url in a file, or model.vendor: one of {', '.join(VENDORS)}"
    )


def _shared_with_azure(settings: Settings, row: Dialect, name: str) -> Found:
    """`--azure_openai_endpoint` also points the unnamed backend; a variable meant for Azure never does."""
    return settings.key(f"azure_openai_{name}") if row is _UNNAMED else Found()


def _own(row: Dialect, settings: Settings, name: str, default: float | None) -> Found:
    """A number of the backend. A variable that is set to nothing on purpose leaves the parameter out."""
    shown = "" if default is None else f"{default:g}"
    found = settings.find(row.prefix, name, default=str(default))
    if found:
        return found
    upper = f"{row.prefix}_{name}".upper()
    blanked = any(settings.environ.get(v) == "" for v in (f"{settings.role.upper()}_{upper}", upper))
    return Found() if blanked else Found(shown, f"the default of {row.name}")


def _model(row: Dialect, settings: Settings) -> str:
    """The role's model; one that nobody chose gives way to the backend's MODEL variable."""
    role = settings.role.upper()
    unchosen = settings.model in ("", row.default_model) or settings.model in STOCK_MODELS
    deployment = () if settings.model else (f"{role}_DEPLOYMENT",)
    if unchosen and (found := settings.find(row.prefix, "model", deployment, default=row.default_model)):
        return found.value
    model = settings.model or row.default_model
    if not model:
        variables = f"{role}_{row.prefix.upper()}_MODEL or {role}_DEPLOYMENT"
        raise ConfigError(
            f"model.{settings.role} is empty: name the model there, with --{settings.role}_model, or in {variables}"
        )
    return model


def _token_field(row: Dialect, settings: Settings) -> Literal["max_completion_tokens", "max_tokens"]:
    found = settings.find(row.prefix, "use_max_completion_tokens")
    if not found:
        return row.token_field
    return "max_completion_tokens" if found.value.lower() in ("1", "true", "yes", "on") else "max_tokens"


def _notes(settings: Settings, where: Found, key: Found) -> tuple[str, ...]:
    notes: list[str] = []
    if where.source == "OPENAI_BASE_URL" or where.source.startswith("the default"):
        notes.append(f"{settings.role} endpoint {where.value} comes from {where.source}")
    if key.source == "OPENAI_API_KEY":
        notes.append(f"{settings.role} key comes from {key.source}")
    return tuple(notes)


def _no_key(row: Dialect, settings: Settings) -> str:
    own = f"{row.prefix.upper()}_API_KEY"
    return (
        f"the {settings.role} model ({row.name}) has no key: set {(*row.keys, own)[0]} "
        f"({settings.role.upper()}_{own} for this role only)"
    )
