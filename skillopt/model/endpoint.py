"""Where a role's calls go, decided once, by a pure function of configuration and environment.

A value in the configuration beats the environment, a role's value beats the shared one, and every choice that a person
might not expect (a variable of another tool, an added `/v1`) is written down in `notes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, quote, urlsplit

from pydantic import SecretStr

from skillopt.errors import ConfigError
from skillopt.types import JSON

Role = Literal["optimizer", "target"]
Auth = Literal["bearer", "azure_key", "none"]

DEFAULT_API_VERSION = "2024-12-01-preview"
OPENAI_URL = "https://api.openai.com/v1"

BACKENDS = {
    "": "openai_chat",
    "openai_chat": "openai_chat",
    "azure_openai": "openai_chat",
    "azure": "openai_chat",
    "openai_compatible": "openai_compatible",
    "openai_compatible_chat": "openai_compatible",
    "compat": "openai_compatible",
}
PLAIN_MODES = frozenset({"openai_compatible", "compat", "openai"})
KEY_MODES = frozenset({"api_key", "key"})
TOKEN_MODES = frozenset({"azure_cli", "managed_identity", "aad", "azure_ad"})
AZURE_HOSTS = (".azure.com", ".azure.us", ".azure.cn")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one address. The key is a `SecretStr`, so no repr, log line or traceback shows it."""

    base_url: str
    model: str
    api_key: SecretStr | None = None
    auth: Auth = "none"
    api_version: str = ""
    notes: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The full address of the chat completions route."""
        if self.auth != "azure_key":
            return f"{self.base_url}/chat/completions"
        deployment = quote(self.model, safe="")
        version = quote(self.api_version or DEFAULT_API_VERSION, safe="")
        return f"{self.base_url}/openai/deployments/{deployment}/chat/completions?api-version={version}"

    @property
    def identity(self) -> str:
        return f"{self.base_url} {self.model}"


@dataclass(frozen=True, slots=True)
class _Found:
    """A setting and where it came from."""

    value: str = ""
    source: str = ""


def resolve(model_config: Mapping[str, JSON], role: Role, environ: Mapping[str, str]) -> Endpoint:
    """Decide address, model and credentials of one role, or say in one `ConfigError` what is missing."""
    backend = _backend(model_config, role)
    compatible = backend == "openai_compatible"
    model = _model(model_config, role, environ, compatible)
    key = _setting(model_config, role, environ, "api_key", compatible)
    address = _address(model_config, role, environ, compatible, key)
    parts = _split(address)
    mode = "openai_compatible" if compatible else _mode(model_config, role, environ)
    azure = mode in KEY_MODES or (not mode and _is_azure(parts))
    secret = _secret(key)
    if azure and secret is None:
        raise ConfigError(_no_azure_key(role, parts))
    base_url, path_notes = _azure_base(parts) if azure else _plain_base(parts)
    version = _setting(model_config, role, environ, "api_version", compatible).value or DEFAULT_API_VERSION
    return Endpoint(
        base_url=base_url,
        model=model,
        api_key=secret,
        auth="azure_key" if azure else "bearer" if secret else "none",
        api_version=version if azure else "",
        notes=(*_source_notes(role, address, key), *path_notes),
    )


def _backend(config: Mapping[str, JSON], role: Role) -> str:
    given = _text(config.get(f"{role}_backend"))
    name = given.lower().replace("-", "_")
    if name not in BACKENDS:
        raise ConfigError(
            f"model.{role}_backend: {given!r} is not in this version; "
            "use openai_chat (also for Azure OpenAI) or openai_compatible"
        )
    return BACKENDS[name]


def _model(config: Mapping[str, JSON], role: Role, environ: Mapping[str, str], compatible: bool) -> str:
    names = [f"{role.upper()}_DEPLOYMENT"]
    if compatible:
        names = [f"{role.upper()}_OPENAI_COMPATIBLE_MODEL", "OPENAI_COMPATIBLE_MODEL", *names]
    model = _text(config.get(role)) or _first(environ, names).value
    if not model:
        raise ConfigError(f"model.{role} is empty: name the {role} model there, with --{role}_model, or in {names[0]}")
    return model


def _setting(config: Mapping[str, JSON], role: Role, environ: Mapping[str, str], name: str, compatible: bool) -> _Found:
    """The precedence of the house: role key, shared key, role variable, shared variable, other tools' variables."""
    for key in (f"{role}_azure_openai_{name}", f"azure_openai_{name}"):
        if value := _text(config.get(key)):
            return _Found(value, f"model.{key}")
    return _first(environ, _variables(role, name, compatible))


def _variables(role: Role, name: str, compatible: bool) -> list[str]:
    upper, prefix = name.upper(), role.upper()
    azure = [f"{prefix}_AZURE_OPENAI_{upper}", f"AZURE_OPENAI_{prefix}_{upper}", f"AZURE_OPENAI_{upper}"]
    if name not in ("endpoint", "api_key"):
        return azure
    other = "BASE_URL" if name == "endpoint" else "API_KEY"
    generic = [f"{prefix}_OPENAI_COMPATIBLE_{other}", f"OPENAI_COMPATIBLE_{other}"]
    # The generic backend never sends a key that was set for Azure.
    return [*generic, f"OPENAI_{other}"] if compatible else [*azure, *generic, f"OPENAI_{other}"]


def _address(
    config: Mapping[str, JSON], role: Role, environ: Mapping[str, str], compatible: bool, key: _Found
) -> _Found:
    found = _setting(config, role, environ, "endpoint", compatible)
    if found.value:
        return found
    if key.source.endswith("OPENAI_API_KEY") and "AZURE" not in key.source:
        return _Found(OPENAI_URL, f"the default, because {key.source} is set and no endpoint is")
    raise ConfigError(
        f"the {role} model has no endpoint. Set AZURE_OPENAI_ENDPOINT or OPENAI_BASE_URL, "
        f"or give --azure_openai_endpoint URL (--{role}_azure_openai_endpoint URL for this role only, "
        "in a file model.azure_openai_endpoint). With OPENAI_API_KEY alone, api.openai.com is used"
    )


def _mode(config: Mapping[str, JSON], role: Role, environ: Mapping[str, str]) -> str:
    found = _setting(config, role, environ, "auth_mode", False)
    mode = found.value.lower()
    if mode in TOKEN_MODES:
        raise ConfigError(
            f"{found.source}: auth mode {mode!r} comes with the next backend release. "
            "What works now: a key in AZURE_OPENAI_API_KEY with auth mode api_key, or openai_compatible"
        )
    if mode and mode not in PLAIN_MODES | KEY_MODES:
        raise ConfigError(f"{found.source}: unknown auth mode {found.value!r}; use api_key or openai_compatible")
    return mode


def _split(address: _Found) -> SplitResult:
    url = address.value
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"{address.source}: the endpoint must be a URL that starts with http:// or https://")
    if parts.username or parts.password:
        raise ConfigError(
            f"{address.source}: the endpoint holds a user name or password; "
            "give credentials as a key (AZURE_OPENAI_API_KEY or OPENAI_API_KEY)"
        )
    return parts


def _is_azure(parts: SplitResult) -> bool:
    """An Azure host with its classic routes; its `/openai/v1` address speaks the plain ones."""
    host = (parts.hostname or "").lower()
    return host.endswith(AZURE_HOSTS) and not parts.path.rstrip("/").endswith("/openai/v1")


def _plain_base(parts: SplitResult) -> tuple[str, tuple[str, ...]]:
    path, notes = parts.path.rstrip("/"), _query_note(parts)
    if path.endswith("/chat/completions"):
        path = path.removesuffix("/chat/completions")
        notes += ("the endpoint is the base address: /chat/completions was cut off its end",)
    if not path:
        path = "/v1"
        notes += (f"the endpoint has no path, so {parts.scheme}://{parts.netloc}/v1 is used",)
    return f"{parts.scheme}://{parts.netloc}{path}", notes


def _azure_base(parts: SplitResult) -> tuple[str, tuple[str, ...]]:
    path, notes = parts.path.rstrip("/"), _query_note(parts)
    head, found, _ = f"{path}/".partition("/openai/")
    if found:
        path = head
        notes += ("the endpoint is the resource's address: the /openai path was cut off its end",)
    return f"{parts.scheme}://{parts.netloc}{path}", notes


def _query_note(parts: SplitResult) -> tuple[str, ...]:
    return ("the endpoint's query string is not used",) if parts.query or parts.fragment else ()


def _source_notes(role: Role, address: _Found, key: _Found) -> tuple[str, ...]:
    """Name what was taken from outside the configuration and outside the house's own variables."""
    foreign = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    notes: list[str] = []
    if address.source in foreign or address.value == OPENAI_URL:
        notes.append(f"{role} endpoint {address.value} comes from {address.source}")
    if key.source in foreign:
        notes.append(f"{role} key comes from {key.source}")
    if key.source.endswith("AZURE_OPENAI_API_KEY") and address.source in foreign:
        notes.append(f"{role} key of {key.source} is sent to the endpoint of {address.source}")
    return tuple(notes)


def _no_azure_key(role: Role, parts: SplitResult) -> str:
    return (
        f"the {role} model's endpoint {parts.hostname} is used with an Azure key, but there is none: "
        f"set AZURE_OPENAI_API_KEY ({role.upper()}_AZURE_OPENAI_API_KEY for this role only)"
    )


def _secret(key: _Found) -> SecretStr | None:
    if not key.value:
        return None
    if not key.value.isascii() or not key.value.isprintable() or " " in key.value:
        raise ConfigError(f"{key.source}: the key holds spaces, line breaks or characters that no key has")
    return SecretStr(key.value)


def _first(environ: Mapping[str, str], names: list[str]) -> _Found:
    for name in names:
        if value := environ.get(name, "").strip():
            return _Found(value, name)
    return _Found()


def _text(value: JSON) -> str:
    if value is None:
        return ""
    return (value.get_secret_value() if isinstance(value, SecretStr) else str(value)).strip()
