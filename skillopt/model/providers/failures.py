"""What an HTTP answer other than a completion means: one `ModelError` kind for each thing a caller can do about it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from skillopt.errors import ModelError
from skillopt.model.types import ErrorKind
from skillopt.types import JSON

SHOWN = 300
_TOKENS = re.compile(r"\b(sk-[\w-]{6})[\w-]{6,}|(?i:\bbearer\s+)[\w.~+/=-]{8,}")

_KINDS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = (
    (
        "context_length",
        re.compile(
            r"context_length|string_above_max|context (length|window|size)|maximum context|prompt is too long"
            r"|too many (input )?tokens|input is too long|reduce the length|exceeds? the (model|maximum) .*tokens"
        ),
    ),
    (
        "content_filter",
        re.compile(r"content_filter|content_policy|responsibleaipolicy|content management policy|safety system"),
    ),
    ("not_found", re.compile(r"model_not_found|deploymentnotfound|model .{0,80}(does not exist|not found)")),
    ("auth", re.compile(r"invalid_api_key|api_key_invalid|invalid api key|incorrect api key|api key not valid")),
)
_QUOTA = re.compile(r"insufficient_quota|billing|insufficient (balance|credits?)|exceeded your current quota")
_NO_CREDIT = "credit balance is too low"

_ADVICE: dict[str, str] = {
    "auth": "check the key ({key}) and that it may use this model",
    "not_found": "check the model name and the endpoint",
    "context_length": "the prompt is too long for this model",
    "quota": "the account's quota is used up; check the plan and billing",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def inner(self, error: JSON) -> Reply:
        """An error that a gateway wrapped in a 200: its own code counts, and without one it is the server's fault."""
        code = error.get("code") if isinstance(error, Mapping) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        return Reply(status, self.headers, json.dumps({"error": error}).encode())


def failure(
    reply: Reply, identity: str, secret: str, key_variable: str = "AZURE_OPENAI_API_KEY or OPENAI_API_KEY"
) -> ModelError:
    """The typed error of a reply that is not a completion; its text never holds the key."""
    kind, advice = _classify(reply)
    advice = advice.format(key=key_variable)
    said = scrub(" ".join(reply.text().split()), secret)[:SHOWN] or "no text"
    message = f"{identity}: HTTP {reply.status}: {said}" + (f" ({advice})" if advice else "")
    wait = _retry_after(reply.headers, time.time()) if kind in ("rate_limited", "server") else None
    return ModelError(kind, message, retry_after=wait)


def scrub(text: str, secret: str) -> str:
    """Remove the key itself and anything shaped like one: some servers echo what they were sent."""
    if secret:
        text = text.replace(secret, "***")
    return _TOKENS.sub("***", text)


def _classify(reply: Reply) -> tuple[ErrorKind, str]:
    status, text = reply.status, reply.text()[:20_000].lower()
    if status == 402 or (status == 429 and _QUOTA.search(text)) or (status == 400 and _NO_CREDIT in text):
        return "auth", _ADVICE["quota"]
    if status in (408, 409, 425) or (status >= 500 and status != 529):
        return "server", ""
    if status in (429, 529):
        return "rate_limited", ""
    kind = _client_kind(status, text)
    return kind, _ADVICE.get(kind, "")


def _client_kind(status: int, text: str) -> ErrorKind:
    if status in (401, 403):
        return "auth"
    if status in (404, 405) or status < 400:
        return "not_found"
    if status == 413:
        return "context_length"
    for kind, pattern in _KINDS:
        if pattern.search(text):
            return kind
    return "bad_request"


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, from `retry-after-ms`, `Retry-After: 3` or `Retry-After: <HTTP date>`."""
    milliseconds, value = headers.get("retry-after-ms", ""), headers.get("Retry-After", "")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (TypeError, ValueError, IndexError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None
