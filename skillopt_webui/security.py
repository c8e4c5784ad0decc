"""The doors: who may ask, from where, and what a page may do.

Loopback needs no token; anything else does. Names in `Host` are checked so that a foreign page cannot point its own
name at us, `Origin` and a hidden token so that it cannot send a form in a visitor's name.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, browsers send forms of ours with the origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """The name in a `Host` header, without port and brackets."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


@dataclass(slots=True)
class Doorkeeper:
    """`token` is None where none is asked for. `names` are host names that may be asked for beside addresses."""

    token: str | None = None
    names: set[str] = field(default_factory=set[str])
    secure: bool = False
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @classmethod
    def for_host(cls, host: str, *, shared: bool = False, token: str | None = None) -> Doorkeeper:
        """A token is made unless the host is this machine alone."""
        open_to_others = shared or not is_loopback(host)
        made = token or (secrets.token_urlsafe(24) if open_to_others else None)
        names = set(_LOCAL) if is_loopback(host) else {*_LOCAL, host}
        return cls(made, names, secure=shared)

    def knows_host(self, header: str) -> bool:
        """Addresses in numbers cannot be rebound; a name must be one of ours. Without a token only this machine."""
        name = host_name(header)
        if name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self.token is not None

    def same_origin(self, host: str, origin: str | None, fetch_site: str | None) -> bool:
        """Whether a request that changes something comes from a page of ours."""
        if fetch_site is not None and fetch_site not in ("same-origin", "none"):
            return False
        return origin is None or (origin != "null" and urlsplit(origin).netloc == host)

    def admits(self, cookie: str | None) -> bool:
        return self.token is None or (cookie is not None and hmac.compare_digest(cookie, self.pass_text))

    def is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def is_form_key(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.form_key.encode())

    @property
    def pass_text(self) -> str:
        """What the cookie holds: made from the token, so that the token itself is stored nowhere."""
        return hmac.new((self.token or "").encode(), b"skillopt dashboard", hashlib.sha256).hexdigest()
