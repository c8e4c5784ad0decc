"""One setting of one role, wherever it was given, and from where it came.

The precedence of the house: the role's key in the configuration, the shared key, the role's variable, the shared one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from skillopt.errors import ConfigError
from skillopt.types import JSON

Role = Literal["optimizer", "target"]
OMITTED = frozenset({"none", "off", "null"})


@dataclass(frozen=True, slots=True)
class Found:
    """A setting and its source; false when nobody gave it."""

    value: str = field(default="", repr=False)
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.source)


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration's `model` section and the environment, as one role sees them."""

    config: Mapping[str, JSON] = field(repr=False)
    role: Role
    environ: Mapping[str, str] = field(repr=False)

    @property
    def model(self) -> str:
        """The model that the configuration names for the role."""
        return text_of(self.config.get(self.role))

    def key(self, name: str) -> Found:
        """A key of the configuration, `<role>_<name>` before `<name>`."""
        for each in (f"{self.role}_{name}", name):
            if value := text_of(self.config.get(each)):
                return Found(value, f"model.{each}")
        return Found()

    def variable(self, names: Sequence[str]) -> Found:
        """The first variable that is set to something."""
        for name in names:
            if value := self.environ.get(name, "").strip():
                return Found(value, name)
        return Found()

    def find(self, prefix: str, name: str, others: Sequence[str] = (), *, default: str = "") -> Found:
        """`model.<prefix>_<name>`, then `<PREFIX>_<NAME>`, each in the role's form first, then other variables.

        A key that still has its default value gives way to a variable: nobody chose it.
        """
        upper = f"{prefix}_{name}".upper()
        key = self.key(f"{prefix}_{name}")
        if key and key.value != default:
            return key
        return self.variable((f"{self.role.upper()}_{upper}", upper, *others)) or key


def number(found: Found, *, least: float = 0.0) -> float | None:
    """A number, or None when it is left out on purpose (`none`, `off`, `null` or nothing)."""
    if not found.value or found.value.lower() in OMITTED:
        return None
    try:
        value = float(found.value)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise ConfigError(f"{found.source}: {found.value!r} is not a number of at least {least:g}")
    return value


def truth(found: Found) -> bool | None:
    """Yes or no in the usual spellings; None when nobody said."""
    if not found.value:
        return None
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if (value := words.get(found.value.lower())) is None:
        raise ConfigError(f"{found.source}: {found.value!r} is neither yes nor no; write true or false")
    return value


def secret(found: Found) -> SecretStr | None:
    if not found.value:
        return None
    if not found.value.isascii() or not found.value.isprintable() or " " in found.value:
        raise ConfigError(f"{found.source}: the key holds spaces, line breaks or characters that no key has")
    return SecretStr(found.value)


def address(found: Found) -> SplitResult:
    """The parts of a URL that is fit to be called."""
    try:
        parts = urlsplit(found.value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"{found.source}: the endpoint must be a URL that starts with http:// or https://")
    if parts.username or parts.password:
        raise ConfigError(
            f"{found.source}: the endpoint holds a user name or password; "
            "give credentials as a key (AZURE_OPENAI_API_KEY or OPENAI_API_KEY)"
        )
    return parts


def plain_base(parts: SplitResult) -> tuple[str, tuple[str, ...]]:
    """The base address of OpenAI-shaped routes, and what was changed about the one given."""
    path, notes = parts.path.rstrip("/"), query_note(parts)
    if path.endswith("/chat/completions"):
        path = path.removesuffix("/chat/completions")
        notes += ("the endpoint is the base address: /chat/completions was cut off its end",)
    if not path:
        path = "/v1"
        notes += (f"the endpoint has no path, so {parts.scheme}://{parts.netloc}/v1 is used",)
    return f"{parts.scheme}://{parts.netloc}{path}", notes


def query_note(parts: SplitResult) -> tuple[str, ...]:
    return ("the endpoint's query string is not used",) if parts.query or parts.fragment else ()


def text_of(value: JSON) -> str:
    if value is None:
        return ""
    return (value.get_secret_value() if isinstance(value, SecretStr) else str(value)).strip()
