"""Is everything there that a run needs? Each answer is a value: what was looked at, what was found, what mends it.

With `offline` nothing is called. Otherwise each role is asked one tiny question; what it used is in the finding.
"""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from skillopt.config.schema import Config
from skillopt.errors import ConfigError, ModelError, SkillOptError
from skillopt.model.assemble import ROLES, provider_of, tariff_of
from skillopt.model.endpoint import Endpoint
from skillopt.model.extract import extract_json
from skillopt.model.prices import TableTariff, Tariff, listed, worst
from skillopt.model.resolve import resolve
from skillopt.model.settings import Role
from skillopt.model.tokens import bound
from skillopt.model.types import Completion, Message, Provider, Request
from skillopt.types import Usage

ANSWER_TOKENS = 16
PATIENCE = 60.0
THINKING_ROOM = 512
"""A model that thinks first has spent sixteen tokens before it says a word."""

EXTRAS = (
    ("anthropic", "claude", "claude_chat"),
    ("azure.identity", "azure", "Azure sign-in with a managed identity"),
    ("litellm", "litellm", "the litellm backend"),
    ("xllamacpp", "local", "models on this machine"),
    ("genai_prices", "", "list prices"),
)
PROGRAMS = (
    ("codex", "the codex_exec backend: npm install -g @openai/codex"),
    ("claude", "the claude_code_exec backend: npm install -g @anthropic-ai/claude-code"),
    ("bwrap", "sandboxed code execution: apt install bubblewrap"),
    ("soffice", "spreadsheet recalculation: apt install libreoffice"),
)
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`needed` is False for what only some runs use: its absence is no fault. `usage` is what the check cost."""

    name: str
    ok: bool
    detail: str
    mend: str = ""
    needed: bool = True
    usage: Usage = field(default_factory=Usage)


async def diagnose(config: Config, environ: Mapping[str, str], *, offline: bool) -> tuple[Finding, ...]:
    """All findings, roles first. Nothing raises: what is broken is a finding."""
    roles = await asyncio.gather(*(_role(config, role, environ, offline=offline) for role in ROLES))
    return (*(finding for found in roles for finding in found), *_extras(), *_programs())


def expected_cost(config: Config, environ: Mapping[str, str]) -> float | None:
    """The most that the calls of `diagnose` can cost in dollars, to ask for consent; None if a price is not known."""
    total = 0.0
    for role in ROLES:
        try:
            endpoint = resolve(dict(config.model), role, environ)
        except ConfigError:
            continue
        tariff = tariff_of(config, role, endpoint)
        if tariff is None:
            return None
        total += sum(worst(tariff, bound(request), request.max_tokens) for request in (_tiny(), _structured()))
    return round(total, 6)


async def _role(config: Config, role: Role, environ: Mapping[str, str], *, offline: bool) -> tuple[Finding, ...]:
    try:
        endpoint = resolve(dict(config.model), role, environ)
        provider = provider_of(endpoint)
    except SkillOptError as error:
        return (Finding(f"{role} endpoint", False, str(error), "set what is named, then run this again"),)
    tariff = tariff_of(config, role, endpoint)
    found = (*_configured(role, endpoint), _price(config, role, endpoint, tariff), _window(role, endpoint))
    if offline or endpoint.program:
        await provider.close()
        return found
    try:
        return (*found, *await _asked(role, endpoint, provider, tariff))
    finally:
        await provider.close()


def _configured(role: Role, endpoint: Endpoint) -> tuple[Finding, ...]:
    notes = f" ({'; '.join(endpoint.notes)})" if endpoint.notes else ""
    signed = {
        "bearer": "a key is set",
        "azure_key": "an Azure key is set",
        "azure_token": f"Azure sign-in ({endpoint.sign_in.mode if endpoint.sign_in else ''})",
        "none": "no key, as a server of your own needs none",
    }
    where = f"{endpoint.backend}: {endpoint.model} at {endpoint.base_url}{notes}"
    return (
        Finding(f"{role} endpoint", True, where),
        Finding(f"{role} credentials", True, signed[endpoint.auth]),
    )


def _price(config: Config, role: Role, endpoint: Endpoint, tariff: Tariff | None) -> Finding:
    if tariff is not None:
        million = tariff.cost(Usage(1, 1_000_000, 0)), tariff.cost(Usage(1, 0, 1_000_000))
        return Finding(f"{role} price", True, f"${million[0]:g} in, ${million[1]:g} out for a million tokens")
    mend = f"give budget.{role}_price_per_million_tokens, or cap budget.max_tokens instead of dollars"
    capped = config.budget.max_cost_usd is not None
    return Finding(f"{role} price", not capped, f"the price of {endpoint.model} is not known", mend, needed=capped)


def _window(role: Role, endpoint: Endpoint) -> Finding:
    row = listed(endpoint.model, endpoint.base_url)
    window = row.context_window if isinstance(row, TableTariff) else None
    detail = f"{window} tokens" if window else "not known"
    return Finding(f"{role} context window", True, detail, needed=False)


async def _asked(role: Role, endpoint: Endpoint, provider: Provider, tariff: Tariff | None) -> tuple[Finding, ...]:
    began = time.monotonic()
    try:
        reply = await provider.complete(_tiny())
    except ModelError as error:
        if error.kind != "empty":
            return (Finding(f"{role} call", False, f"{error.kind}: {error}", _advice(error.kind, endpoint)),)
        reply = Completion("", Usage(calls=1, unreported=1), "length")
    seconds = time.monotonic() - began
    usage = _priced(reply.usage, tariff)
    said = "answered" if reply.text.strip() else "answered (all of it spent on thinking)"
    detail = f"{said} in {seconds:.1f} s, {usage.total_tokens} tokens{_dollars(usage)}"
    return (Finding(f"{role} call", True, detail, usage=usage), await _structure(role, endpoint, provider, tariff))


async def _structure(role: Role, endpoint: Endpoint, provider: Provider, tariff: Tariff | None) -> Finding:
    name = f"{role} structured output"
    try:
        reply = await provider.complete(_structured())
    except ModelError as error:
        return Finding(name, False, f"{error.kind}: {error}", _advice(error.kind, endpoint), needed=False)
    usage = _priced(reply.usage, tariff)
    if isinstance(extract_json(reply.text), dict):
        return Finding(name, True, f"JSON as asked{_dollars(usage)}", usage=usage)
    mend = "answers that are not JSON are asked for once more and then counted as lost; a larger model may help"
    return Finding(name, False, "the answer to a question for JSON holds none", mend, needed=False, usage=usage)


def _tiny() -> Request:
    return Request((Message("user", "Reply with the word ok."),), "doctor", ANSWER_TOKENS, timeout=PATIENCE)


def _structured() -> Request:
    ask = Message("user", 'Reply with this JSON object and nothing else: {"ok": true}')
    return replace(_tiny(), messages=(ask,), json_schema=SCHEMA, max_tokens=THINKING_ROOM)


def _advice(kind: str, endpoint: Endpoint) -> str:
    if kind == "auth":
        return "run `az login`" if endpoint.auth == "azure_token" else f"set {endpoint.key_variable}"
    hints = {
        "not_found": "check the model's name and the address",
        "connection": f"start the server, or check that {endpoint.base_url} is the right address",
        "timeout": "check that the server is up and not busy loading the model",
        "rate_limited": "wait a while, or lower model.max_concurrency and set model.requests_per_minute",
    }
    return hints.get(kind, "see the server's message")


def _priced(usage: Usage, tariff: Tariff | None) -> Usage:
    if tariff is None or usage.unreported:
        return replace(usage, unpriced=usage.calls)
    return replace(usage, cost_usd=tariff.cost(usage))


def _dollars(usage: Usage) -> str:
    return "" if usage.unpriced else f", ${usage.cost_usd:.6f}"


def _extras() -> tuple[Finding, ...]:
    return tuple(_extra(*row) for row in EXTRAS)


def _extra(module: str, extra: str, use: str) -> Finding:
    try:
        found = importlib.util.find_spec(module) is not None
    except ImportError:
        found = False
    mend = "" if found else f'pip install "skillopt[{extra}]"' if extra else f"pip install {module.replace('_', '-')}"
    return Finding(f"package {module}", found, f"for {use}", mend, needed=False)


def _programs() -> tuple[Finding, ...]:
    rows: list[Finding] = []
    for name, use in PROGRAMS:
        found = shutil.which(name)
        what, _, install = use.partition(": ")
        rows.append(Finding(f"program {name}", bool(found), found or f"for {what}", "" if found else install, False))
    return tuple(rows)
