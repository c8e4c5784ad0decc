"""`openai_chat`: Azure OpenAI with a key or a sign-in, and plain OpenAI-shaped servers under the same variables.

A token of a sign-in opens everything its owner may do, so it is sent to hosts of Azure's model services only, over
https only; a name under `cloudapp.azure.com` can be anybody's.
"""

from __future__ import annotations

from urllib.parse import SplitResult

from skillopt.errors import ConfigError
from skillopt.model.endpoint import AD_SCOPE, DEFAULT_API_VERSION, Api, Endpoint, SignIn
from skillopt.model.settings import Found, Settings, address, plain_base, query_note, secret

OPENAI_URL = "https://api.openai.com/v1"
PLAIN_MODES = frozenset({"openai_compatible", "compat", "openai"})
KEY_MODES = frozenset({"api_key", "key"})
TOKEN_MODES = {
    "azure_cli": "azure_cli",
    "managed_identity": "managed_identity",
    "aad": "managed_identity",
    "azure_ad": "managed_identity",
}
AZURE_HOSTS = (".azure.com", ".azure.us", ".azure.cn")
TOKEN_HOSTS = tuple(
    f".{service}{domain}" for domain in AZURE_HOSTS for service in ("openai", "cognitiveservices", "services.ai")
)
_FOREIGN = ("OPENAI_BASE_URL", "OPENAI_API_KEY")


def azure_or_plain(settings: Settings) -> Endpoint:
    key = _find(settings, "api_key")
    where = _address(settings, key)
    parts = address(where)
    mode = _mode(settings, parts, key)
    base_url, path_notes = plain_base(parts) if mode == "plain" else _azure_base(parts)
    sign_in = _sign_in(settings, mode, parts)
    version = _find(settings, "api_version").value or DEFAULT_API_VERSION
    token = secret(key)
    if mode == "api_key" and token is None:
        raise ConfigError(_no_azure_key(settings, parts))
    return Endpoint(
        base_url=base_url,
        model=_model(settings),
        api_key=None if sign_in else token,
        auth="azure_token" if sign_in else "azure_key" if mode == "api_key" else "bearer" if token else "none",
        api_version="" if mode == "plain" else version,
        notes=(*_source_notes(settings, where, key), *path_notes, *_unused_key(sign_in, key)),
        api=api_of(settings),
        sign_in=sign_in,
        takes_schema=mode != "plain" or base_url == OPENAI_URL,
    )


def api_of(settings: Settings) -> Api:
    value = settings.key("api").value.lower()
    return "chat" if value == "chat" else "responses" if value == "responses" else "auto"


def _model(settings: Settings) -> str:
    role = settings.role
    variable = f"{role.upper()}_DEPLOYMENT"
    model = settings.model or settings.variable([variable]).value
    if not model:
        raise ConfigError(f"model.{role} is empty: name the {role} model there, with --{role}_model, or in {variable}")
    return model


def _find(settings: Settings, name: str) -> Found:
    return settings.key(f"azure_openai_{name}") or settings.variable(_variables(settings, name))


def _variables(settings: Settings, name: str) -> list[str]:
    upper, prefix = name.upper(), settings.role.upper()
    azure = [f"{prefix}_AZURE_OPENAI_{upper}", f"AZURE_OPENAI_{prefix}_{upper}", f"AZURE_OPENAI_{upper}"]
    if name not in ("endpoint", "api_key"):
        return azure
    other = "BASE_URL" if name == "endpoint" else "API_KEY"
    return [*azure, f"{prefix}_OPENAI_COMPATIBLE_{other}", f"OPENAI_COMPATIBLE_{other}", f"OPENAI_{other}"]


def _address(settings: Settings, key: Found) -> Found:
    if found := _find(settings, "endpoint"):
        return found
    if key.source.endswith("OPENAI_API_KEY") and "AZURE" not in key.source:
        return Found(OPENAI_URL, f"the default, because {key.source} is set and no endpoint is")
    role = settings.role
    raise ConfigError(
        f"the {role} model has no endpoint. Set AZURE_OPENAI_ENDPOINT or OPENAI_BASE_URL, "
        f"or give --azure_openai_endpoint URL (--{role}_azure_openai_endpoint URL for this role only, "
        "in a file model.azure_openai_endpoint). With OPENAI_API_KEY alone, api.openai.com is used"
    )


def _mode(settings: Settings, parts: SplitResult, key: Found) -> str:
    """One of plain, api_key, azure_cli and managed_identity. Without a word, the host and the key decide."""
    found = _find(settings, "auth_mode")
    mode = found.value.lower()
    if not mode:
        return "plain" if not _is_azure(parts) else "api_key" if key else "azure_cli"
    if mode in PLAIN_MODES:
        return "plain"
    if mode in KEY_MODES:
        return "api_key"
    if mode not in TOKEN_MODES:
        raise ConfigError(
            f"{found.source}: unknown auth mode {found.value!r}; "
            "use api_key, azure_cli, managed_identity or openai_compatible"
        )
    return TOKEN_MODES[mode]


def _sign_in(settings: Settings, mode: str, parts: SplitResult) -> SignIn | None:
    if mode not in TOKEN_MODES:
        return None
    host = (parts.hostname or "").lower()
    if parts.scheme != "https" or not host.endswith(TOKEN_HOSTS):
        raise ConfigError(
            f"the {settings.role} endpoint {parts.scheme}://{host} is no https address of Azure OpenAI, so the token "
            f"of auth mode {mode} is not sent there. Use an endpoint such as https://NAME.openai.azure.com, or a key "
            "with auth mode api_key or openai_compatible"
        )
    scope = _find(settings, "ad_scope").value or AD_SCOPE
    return SignIn(mode, scope, _find(settings, "managed_identity_client_id").value)


def _is_azure(parts: SplitResult) -> bool:
    """An Azure host with its classic routes; its `/openai/v1` address speaks the plain ones."""
    host = (parts.hostname or "").lower()
    return host.endswith(AZURE_HOSTS) and not parts.path.rstrip("/").endswith("/openai/v1")


def _azure_base(parts: SplitResult) -> tuple[str, tuple[str, ...]]:
    path, notes = parts.path.rstrip("/"), query_note(parts)
    head, found, _ = f"{path}/".partition("/openai/")
    if found:
        path = head
        notes += ("the endpoint is the resource's address: the /openai path was cut off its end",)
    return f"{parts.scheme}://{parts.netloc}{path}", notes


def _source_notes(settings: Settings, where: Found, key: Found) -> tuple[str, ...]:
    """Name what was taken from outside the configuration and outside the house's own variables."""
    role = settings.role
    notes: list[str] = []
    if where.source in _FOREIGN or where.value == OPENAI_URL:
        notes.append(f"{role} endpoint {where.value} comes from {where.source}")
    if key.source in _FOREIGN:
        notes.append(f"{role} key comes from {key.source}")
    if key.source.endswith("AZURE_OPENAI_API_KEY") and where.source in _FOREIGN:
        notes.append(f"{role} key of {key.source} is sent to the endpoint of {where.source}")
    return tuple(notes)


def _unused_key(sign_in: SignIn | None, key: Found) -> tuple[str, ...]:
    return (f"{key.source} is set but not used: the auth mode is {sign_in.mode}",) if sign_in and key else ()


def _no_azure_key(settings: Settings, parts: SplitResult) -> str:
    return (
        f"the {settings.role} model's endpoint {parts.hostname} is used with an Azure key, but there is none: "
        f"set AZURE_OPENAI_API_KEY ({settings.role.upper()}_AZURE_OPENAI_API_KEY for this role only), "
        "or sign in with `az login` and auth mode azure_cli"
    )
