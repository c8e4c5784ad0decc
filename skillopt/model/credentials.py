"""Tokens of Azure sign-ins: got when first needed, kept until shortly before they end, never written anywhere."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import SecretStr

from skillopt.errors import ModelError
from skillopt.model.endpoint import SignIn
from skillopt.types import JSON

TokenSource = Callable[[], Awaitable[SecretStr]]
RENEW_BEFORE = 300.0
CLI_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Token:
    value: SecretStr
    expires_at: float


Fetch = Callable[[], Awaitable[Token]]


def token_source(sign_in: SignIn) -> TokenSource:
    """A source for one endpoint."""

    async def fetch() -> Token:
        return await _fetch(sign_in)

    return kept(fetch)


def kept(fetch: Fetch, clock: Callable[[], float] = time.time) -> TokenSource:
    """A source that asks again only when the token is about to end; calls side by side ask once."""
    lock = asyncio.Lock()
    current: list[Token] = []

    async def source() -> SecretStr:
        async with lock:
            if not current or clock() > current[0].expires_at - RENEW_BEFORE:
                current[:] = [await fetch()]
            return current[0].value

    return source


async def _fetch(sign_in: SignIn) -> Token:
    try:
        return await asyncio.to_thread(_by_identity, sign_in)
    except ImportError as exc:
        if sign_in.mode != "azure_cli":
            raise ModelError(
                "auth", f'auth mode {sign_in.mode} needs azure-identity: pip install "skillopt[azure]"'
            ) from exc
        return await _by_az(sign_in)


def _by_identity(sign_in: SignIn) -> Token:
    from azure.core.exceptions import AzureError
    from azure.identity import AzureCliCredential, ManagedIdentityCredential

    if sign_in.mode == "azure_cli":
        credential, advice = AzureCliCredential(process_timeout=int(CLI_SECONDS)), "run `az login`"
    else:
        credential = ManagedIdentityCredential(client_id=sign_in.client_id or None)
        advice = "check that this machine has a managed identity, and AZURE_OPENAI_MANAGED_IDENTITY_CLIENT_ID"
    try:
        token = credential.get_token(sign_in.scope)
    except AzureError as exc:
        raise ModelError("auth", f"no Azure token ({sign_in.mode}): {_first_line(str(exc))} ({advice})") from exc
    finally:
        credential.close()
    return Token(SecretStr(token.token), float(token.expires_on))


async def _by_az(sign_in: SignIn) -> Token:
    """The `az` program itself, where azure-identity is not installed."""
    resource = sign_in.scope.removesuffix("/.default")
    command = ("az", "account", "get-access-token", "--resource", resource, "-o", "json")
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
    except OSError as exc:
        raise ModelError(
            "auth", "auth mode azure_cli needs the `az` program: install the Azure CLI and run `az login`"
        ) from exc
    try:
        out, err = await asyncio.wait_for(child.communicate(), CLI_SECONDS)
    except asyncio.TimeoutError as exc:
        raise ModelError("auth", f"`az` gave no token within {CLI_SECONDS:g} s; try `az login`") from exc
    finally:
        if child.returncode is None:
            child.kill()
    if child.returncode:
        said = _first_line(err.decode("utf-8", "replace"))
        raise ModelError("auth", f"no Azure token (azure_cli): {said} (run `az login`)")
    return _read(out)


def _read(out: bytes) -> Token:
    try:
        row: JSON = json.loads(out)
        expires = float(row.get("expires_on") or time.time() + 3000)
        return Token(SecretStr(str(row["accessToken"])), expires)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ModelError("auth", "`az account get-access-token` gave no token; try `az login`") from exc


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")[:300]
