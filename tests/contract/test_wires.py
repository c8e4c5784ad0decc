"""One contract over every vendor's wire format, against a server that speaks it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

from skillopt.model.assemble import provider_of
from skillopt.model.credentials import Token, kept
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.openai import OpenAIProvider
from skillopt.model.resolve import resolve
from skillopt.model.types import Provider
from skillopt.testing.wire_contract import KEY, WireContract
from skillopt.testing.wire_server import WireServer


@dataclass(frozen=True)
class Vendor:
    """A backend as a user configures it; `{origin}` is the server's address."""

    backend: str
    config: dict[str, str]
    environ: dict[str, str]
    model: str = "some-model"
    path: str = "/v1/chat/completions"
    takes_effort: bool = True


VENDORS = {
    "openai_chat": Vendor(
        "openai_chat",
        {},
        {
            "AZURE_OPENAI_ENDPOINT": "{origin}/v1",
            "AZURE_OPENAI_API_KEY": KEY,
            "AZURE_OPENAI_AUTH_MODE": "openai_compatible",
        },
    ),
    "azure": Vendor(
        "openai_chat",
        {"azure_openai_auth_mode": "api_key"},
        {"AZURE_OPENAI_ENDPOINT": "{origin}/", "AZURE_OPENAI_API_KEY": KEY},
        path="/openai/deployments/some-model/chat/completions",
    ),
    "azure_responses": Vendor(
        "openai_chat",
        {"azure_openai_auth_mode": "api_key", "api": "responses"},
        {"AZURE_OPENAI_ENDPOINT": "{origin}", "AZURE_OPENAI_API_KEY": KEY},
        path="/openai/responses",
    ),
    "responses": Vendor(
        "openai_compatible", {}, {"OPENAI_BASE_URL": "{origin}", "OPENAI_API_KEY": KEY}, "o3-pro", "/v1/responses"
    ),
    "openai_compatible": Vendor(
        "openai_compatible",
        {"openai_compatible_base_url": "{origin}/v1", "openai_compatible_api_key": KEY},
        {},
    ),
    "claude_chat": Vendor(
        "claude_chat",
        {},
        {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "{origin}"},
        "claude-sonnet-4-6",
        "/v1/messages",
    ),
    "qwen_chat": Vendor(
        "qwen_chat",
        {"target_qwen_chat_base_url": "{origin}/v1"},
        {"QWEN_CHAT_API_KEY": KEY, "QWEN_CHAT_THINKING_MODE": "disabled"},
        takes_effort=False,
    ),
    "minimax_chat": Vendor(
        "minimax_chat", {}, {"MINIMAX_BASE_URL": "{origin}/v1", "MINIMAX_API_KEY": KEY}, takes_effort=False
    ),
    "vendor_row": Vendor(
        "openai_compatible",
        {"vendor": "deepseek", "openai_compatible_base_url": "{origin}/v1"},
        {"DEEPSEEK_API_KEY": KEY},
        takes_effort=False,
    ),
}


def endpoint(vendor: Vendor, origin: str) -> Endpoint:
    config = {name: value.format(origin=origin) for name, value in vendor.config.items()}
    environ = {name: value.format(origin=origin) for name, value in vendor.environ.items()}
    return resolve({**config, "target": vendor.model, "target_backend": vendor.backend}, "target", environ)


class TestWires(WireContract):
    @pytest.fixture(params=VENDORS)
    def vendor(self, request: pytest.FixtureRequest) -> Vendor:
        return VENDORS[request.param]

    @pytest.fixture
    def takes_effort(self, vendor: Vendor) -> bool:
        return vendor.takes_effort

    @pytest.fixture
    async def server(self) -> AsyncIterator[WireServer]:
        async with WireServer(key=KEY) as server:
            yield server

    @pytest.fixture
    async def provider(self, vendor: Vendor, server: WireServer) -> AsyncIterator[Provider]:
        provider = provider_of(endpoint(vendor, server.origin))
        yield provider
        await provider.close()

    async def test_the_route(self, vendor: Vendor, server: WireServer, provider: Provider) -> None:
        from skillopt.testing.wire_contract import asking

        await provider.complete(asking("hello"))
        assert server.seen[-1].path == vendor.path


class TestAzureSignIn(WireContract):
    """A token instead of a key. Resolution allows it for Azure's hosts only, so the endpoint is made by hand."""

    @pytest.fixture
    def takes_effort(self) -> bool:
        return True

    @pytest.fixture
    async def server(self) -> AsyncIterator[WireServer]:
        async with WireServer(key=KEY) as server:
            yield server

    @pytest.fixture
    async def provider(self, server: WireServer) -> AsyncIterator[Provider]:
        async def fetch() -> Token:
            return Token(SecretStr(KEY), 2e12)

        made = Endpoint(server.origin, "dep", auth="azure_token", api_version="2024-12-01-preview")
        provider = OpenAIProvider(made, kept(fetch))
        yield provider
        await provider.close()
