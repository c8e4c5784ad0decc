"""One contract over every provider and wrapper we ship."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from skillopt.model.endpoint import Endpoint
from skillopt.model.gateway import build_gateway
from skillopt.model.limit import Limit
from skillopt.model.meter import Meter
from skillopt.model.providers.openai import OpenAIProvider
from skillopt.model.retry import Retry, RetryPolicy
from skillopt.model.types import Provider
from skillopt.testing.contracts import ProviderContract
from skillopt.testing.scripted import ScriptedProvider
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.testing.world import World


class TestScripted(ProviderContract):
    @pytest.fixture
    def provider(self) -> Provider:
        return ScriptedProvider(World())


class TestWrappers(ProviderContract):
    @pytest.fixture(params=[Retry, Meter, lambda inner: Limit(inner, 3), build_gateway])
    def provider(self, request: pytest.FixtureRequest) -> Provider:
        return request.param(ScriptedProvider(World()))


class TestOpenAI(ProviderContract):
    @pytest.fixture
    async def provider(self) -> AsyncIterator[Provider]:
        async with LoopbackServer() as server:
            provider = OpenAIProvider(Endpoint(server.url, "m"))
            yield provider
            await provider.close()


class TestGatewayInAStorm(ProviderContract):
    @pytest.fixture
    async def provider(self) -> AsyncIterator[Provider]:
        async with LoopbackServer(faults=Faults(rate_429=0.2, retry_after=0.01, rate_500=0.2)) as server:
            gateway = build_gateway(
                OpenAIProvider(Endpoint(server.url, "m")), concurrency=5, policy=RetryPolicy(20, base=0.002)
            )
            yield gateway
            await gateway.close()
