"""Where a role's calls go, decided once, by a pure function of configuration and environment.

A value in the configuration beats the environment, a role's value beats the shared one, and every choice that a person
might not expect (a variable of another tool, an added `/v1`) is written down in `notes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from pydantic import SecretStr

from skillopt.types import JSON, canonical

Auth = Literal["bearer", "azure_key", "azure_token", "none"]
Wire = Literal["openai", "anthropic", "litellm", "local", "none"]
Api = Literal["auto", "chat", "responses"]

DEFAULT_API_VERSION = "2024-12-01-preview"
RESPONSES_API_VERSION = "2025-04-01-preview"
"""The first versions of the Azure API have no Responses route."""
AD_SCOPE = "https://cognitiveservices.azure.com/.default"


@dataclass(frozen=True, slots=True)
class SignIn:
    """How a token of Azure is got: `azure_cli` or `managed_identity`."""

    mode: str
    scope: str = AD_SCOPE
    client_id: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one address. The key is a `SecretStr`, so no repr, log line or traceback shows it.

    `temperature`, `max_tokens` and `timeout` are the backend's own: the first where a call names none, the others as
    a limit and a default. `extra` goes into every body.
    """

    base_url: str
    model: str
    api_key: SecretStr | None = None
    auth: Auth = "none"
    api_version: str = ""
    notes: tuple[str, ...] = ()
    backend: str = "openai_chat"
    wire: Wire = "openai"
    api: Api = "auto"
    token_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    takes_effort: bool = True
    takes_schema: bool = False
    """Whether answers can be held to a JSON schema here."""
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    sign_in: SignIn | None = None
    program: bool = False
    """Whether an agent program calls the model itself; then nobody else does."""
    key_variable: str = "AZURE_OPENAI_API_KEY or OPENAI_API_KEY"

    @property
    def is_azure(self) -> bool:
        return self.auth in ("azure_key", "azure_token")

    @property
    def url(self) -> str:
        """The full address of the chat completions route."""
        if not self.is_azure:
            return f"{self.base_url}/chat/completions"
        deployment = quote(self.model, safe="")
        version = quote(self.api_version or DEFAULT_API_VERSION, safe="")
        return f"{self.base_url}/openai/deployments/{deployment}/chat/completions?api-version={version}"

    @property
    def responses_url(self) -> str:
        """The full address of the responses route."""
        if not self.is_azure:
            return f"{self.base_url}/responses"
        version = max(self.api_version or DEFAULT_API_VERSION, RESPONSES_API_VERSION)
        return f"{self.base_url}/openai/responses?api-version={quote(version, safe='')}"

    @property
    def identity(self) -> str:
        settings = f" {canonical(self.extra)}" if self.extra else ""
        return f"{self.base_url} {self.model}{settings}"
