"""Contracts as test classes: subclass one, give the fixture, and your plugin is held to what the house relies on.

class TestMyProvider(ProviderContract):
    @pytest.fixture
    async def provider(self): ...
"""

from __future__ import annotations

import asyncio

import pytest

from skillopt.model.types import Completion, Message, Provider, Request


def request_for(text: str) -> Request:
    return Request((Message("system", "Answer briefly."), Message("user", text)), stage="contract", max_tokens=64)


@pytest.mark.asyncio
class ProviderContract:
    """What every provider and every wrapper around one owes its callers; the fixture gives one that can answer."""

    async def test_answers_with_text_and_usage(self, provider: Provider) -> None:
        completion = await provider.complete(request_for("Say something."))
        assert isinstance(completion, Completion)
        assert completion.text.strip()
        assert completion.finish
        assert completion.usage.calls == 1
        assert completion.usage.unreported == 1 or completion.usage.total_tokens > 0

    async def test_identity_is_stable(self, provider: Provider) -> None:
        before = provider.identity
        await provider.complete(request_for("Say something."))
        assert before and provider.identity == before

    async def test_many_calls_at_once(self, provider: Provider) -> None:
        asked = [provider.complete(request_for(f"Question {n}")) for n in range(20)]
        assert all(completion.text for completion in await asyncio.gather(*asked))

    async def test_a_cancelled_call_leaves_the_provider_usable(self, provider: Provider) -> None:
        call = asyncio.ensure_future(provider.complete(request_for("Never mind.")))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        assert (await provider.complete(request_for("Say something."))).text

    async def test_closing_twice_is_harmless(self, provider: Provider) -> None:
        await provider.complete(request_for("Say something."))
        await provider.close()
        await provider.close()
