"""What every provider owes its callers on the wire: subclass, give the `server` and `provider` fixtures.

The server does what the prompt says, so the tests hold for each vendor's format.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Mapping

import pytest

from skillopt.errors import ModelError
from skillopt.model.types import BilledError, Image, Message, Provider, Request, Text, Tool
from skillopt.testing.wire_server import WireServer
from skillopt.types import JSON

KEY = "sk-very-secret-key-1234567890"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
WEATHER = Tool("weather", "The weather at a place", {"type": "object", "properties": {"place": {"type": "string"}}})
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def asking(text: str, *, timeout: float = 5.0, effort: str = "", schema: Mapping[str, JSON] | None = None) -> Request:
    messages = (Message("system", "Be brief."), Message("user", text))
    return Request(messages, "contract", 64, timeout=timeout, reasoning_effort=effort or None, json_schema=schema)


@pytest.mark.asyncio
class WireContract:
    """Text, tools, images, usage, effort, every class of failure, and no secret anywhere."""

    async def test_text_and_usage(self, server: WireServer, provider: Provider) -> None:
        completion = await provider.complete(asking("Grüße 漢字 🎉"))
        assert completion.text == "You said: Grüße 漢字 🎉"
        assert (completion.finish, completion.tool_calls) == ("stop", ())
        usage = completion.usage
        assert usage.calls == 1 and not usage.unreported
        assert usage.prompt_tokens >= usage.cached_tokens == 3
        assert usage.completion_tokens > 0
        assert server.seen[-1].asked and server.seen[-1].asked.system == "Be brief."

    async def test_a_tool_is_called_and_its_result_read(self, server: WireServer, provider: Provider) -> None:
        question = Message("user", "Please use a tool.")
        first = await provider.complete(Request((question,), "contract", 64, 5.0, tools=(WEATHER,), tool_choice="auto"))
        assert first.finish == "tool_calls"
        (call,) = first.tool_calls
        assert (call.name, json.loads(call.arguments)) == ("weather", {"place": "here"})
        answered = (question, Message("assistant", "", first.tool_calls), Message("tool", "rain", (), call.id))
        second = await provider.complete(Request(answered, "contract", 64, 5.0, tools=(WEATHER,)))
        assert second.text == "the tool said rain"

    @pytest.mark.parametrize("choice", ["required", "weather", "none"])
    async def test_tool_choice_in_the_vendors_words(self, server: WireServer, provider: Provider, choice: str) -> None:
        await provider.complete(Request((Message("user", "hi"),), "c", 64, 5.0, tools=(WEATHER,), tool_choice=choice))
        sent = json.dumps(server.seen[-1].body["tool_choice"])
        assert choice in sent or (choice == "required" and "any" in sent)

    async def test_an_image(self, server: WireServer, provider: Provider) -> None:
        parts = (Text("What is this?"), Image(PIXEL))
        completion = await provider.complete(Request((Message("user", parts),), "contract", 64, 5.0))
        assert completion.text == "I see 1 image(s)"

    async def test_a_schema_is_asked_for(self, server: WireServer, provider: Provider) -> None:
        await provider.complete(asking("Give a.", schema=SCHEMA))
        assert json.dumps(SCHEMA) in json.dumps(server.seen[-1].body)

    async def test_reasoning_effort_arrives_where_the_vendor_has_it(
        self, server: WireServer, provider: Provider, takes_effort: bool
    ) -> None:
        await provider.complete(asking("Think.", effort="high"))
        assert ('"high"' in json.dumps(server.seen[-1].body)) == takes_effort

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            ("auth", "auth"),
            ("forbidden", "auth"),
            ("quota", "auth"),
            ("missing", "not_found"),
            ("bad", "bad_request"),
            ("context", "context_length"),
            ("blocked", "content_filter"),
            ("filter", "content_filter"),
            ("429", "rate_limited"),
            ("529", "rate_limited"),
            ("500", "server"),
            ("503", "server"),
            ("drop", "connection"),
            ("malformed", "malformed"),
            ("empty", "empty"),
        ],
    )
    async def test_every_failure_has_its_kind(
        self, server: WireServer, provider: Provider, fault: str, kind: str
    ) -> None:
        with pytest.raises(ModelError) as caught:
            await provider.complete(asking(f"fault:{fault}"))
        assert caught.value.kind == kind
        assert len(server.seen) == 1, "a provider does not retry by itself"
        if fault == "429":
            assert caught.value.retry_after == 0.05
        if fault in ("empty", "filter"):
            assert isinstance(caught.value, BilledError) and caught.value.usage.prompt_tokens

    async def test_an_answer_cut_at_the_limit_is_an_answer(self, provider: Provider) -> None:
        completion = await provider.complete(asking("fault:length"))
        assert (completion.text, completion.finish) == ("cut off he", "length")

    async def test_a_hanging_server_costs_the_calls_time_and_a_slow_one_is_waited_for(self, provider: Provider) -> None:
        with pytest.raises(ModelError) as caught:
            await provider.complete(asking("fault:hang", timeout=0.1))
        assert caught.value.kind == "timeout"
        assert (await provider.complete(asking("fault:slow"))).text

    async def test_a_cancelled_call_leaves_the_provider_usable(self, server: WireServer, provider: Provider) -> None:
        call = asyncio.ensure_future(provider.complete(asking("fault:hang")))
        await asyncio.wait_for(server.asked.wait(), 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await provider.complete(asking("again"))).text

    async def test_no_secret_in_any_text(
        self, server: WireServer, provider: Provider, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        with pytest.raises(ModelError) as caught:
            await provider.complete(asking("fault:auth"))
        await provider.complete(asking("hello"))
        trace = "".join(traceback.format_exception(type(caught.value), caught.value, caught.value.__traceback__))
        texts = (repr(provider), provider.identity, repr(caught.value), str(caught.value), trace, caplog.text)
        assert not [text for text in texts if KEY in text or "very-secret" in text]
        presented = server.seen[-1].headers
        assert KEY in json.dumps(presented), "the key must reach the server all the same"
