"""What is particular to a provider: refused parameters, the other route, marks for the cache, missing extras."""

from __future__ import annotations

import sys
import types
from dataclasses import replace

import pytest

from skillopt.errors import ConfigError, ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.claude import ClaudeProvider
from skillopt.model.providers.openai import OpenAIProvider
from skillopt.model.providers.through_litellm import LiteLLMProvider
from skillopt.model.providers.wire_responses import is_needed
from skillopt.model.types import Message, Request, Text
from skillopt.testing.wire_contract import SCHEMA, asking
from skillopt.testing.wire_server import WireServer


async def test_a_model_of_the_responses_route_is_found_out_once():
    async with WireServer(responses_only="new-model") as server:
        provider = OpenAIProvider(Endpoint(f"{server.origin}/v1", "new-model"))
        for _ in range(2):
            assert (await provider.complete(asking("hello"))).text == "You said: hello"
        await provider.close()
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


async def test_with_api_chat_the_other_route_is_not_tried():
    async with WireServer(responses_only="new-model") as server:
        provider = OpenAIProvider(Endpoint(f"{server.origin}/v1", "new-model", api="chat"))
        with pytest.raises(ModelError) as caught:
            await provider.complete(asking("hello"))
        await provider.close()
    assert caught.value.kind == "not_found" and len(server.seen) == 1


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("gpt-5.3-codex", True),
        ("gpt-5-codex-2026", True),
        ("codex-mini", True),
        ("gpt-5.4-pro", True),
        ("o3-pro", True),
        ("gpt-5.5", False),
        ("gpt-5.5-mini", False),
        ("gemini-3-pro", False),
    ],
)
def test_names_of_the_responses_route(name: str, needed: bool):
    assert is_needed(name) is needed


async def test_azure_asks_for_responses_with_a_version_that_has_them():
    async with WireServer() as server:
        provider = OpenAIProvider(
            Endpoint(server.origin, "dep", auth="azure_key", api_version="2024-12-01-preview", api="responses")
        )
        await provider.complete(asking("hello"))
        await provider.close()
    assert server.seen[0].query == {"api-version": "2025-04-01-preview"}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_openai_leaves_out_what_is_refused_by_name(api: str):
    names = ("reasoning_effort", "effort", "temperature", "response_format", "json_schema")
    async with WireServer(refuses=("temperature", "response_format", "reasoning_effort")) as server:
        provider = OpenAIProvider(Endpoint(f"{server.origin}/v1", "m", api=api))  # type: ignore[arg-type]
        request = replace(asking("hello", effort="high", schema=SCHEMA), temperature=0.1)
        assert (await provider.complete(request)).text
        before = len(server.seen)
        await provider.complete(request)
        await provider.close()
    assert len(server.seen) == before + 1
    left = {name for name in names if name in server.seen[-1].body}
    assert left == set()


async def test_claude_leaves_out_what_is_refused_by_name():
    async with WireServer(refuses=("effort", "temperature")) as server:
        provider = ClaudeProvider(Endpoint(server.origin, "claude-old"))
        request = replace(asking("hello", effort="minimal"), temperature=1.7)
        for _ in range(2):
            assert (await provider.complete(request)).text
        await provider.close()
    assert len(server.seen) == 4
    assert server.seen[0].body["output_config"] == {"effort": "low"}
    assert server.seen[0].body["temperature"] == 1.0, "Anthropic's scale ends at one"
    assert not {"output_config", "temperature"} & set(server.seen[-1].body)


async def test_claude_marks_the_stable_head_of_the_prompt():
    parts = (Text("the skill"), Text("the question"))
    async with WireServer() as server:
        provider = ClaudeProvider(Endpoint(server.origin, "claude"))
        await provider.complete(Request((Message("system", "s"), Message("user", parts)), "r", 64, 5.0))
        await provider.close()
    body = server.seen[0].body
    marks = ["cache_control" in block for block in (*body["system"], *body["messages"][0]["content"])]
    assert marks == [True, True, False]


@pytest.mark.parametrize(("module", "make"), [("anthropic", ClaudeProvider), ("litellm", LiteLLMProvider)])
def test_an_extra_that_is_not_installed_is_named(module: str, make: type, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r'pip install "skillopt\['):
        make(Endpoint("http://127.0.0.1:1", "m"))


class Dumped:
    def __init__(self, row: dict[str, object]) -> None:
        self._row = row

    def model_dump(self) -> dict[str, object]:
        return self._row


async def test_litellm_is_called_without_retries_and_its_errors_get_their_kind(monkeypatch: pytest.MonkeyPatch):
    asked: list[dict[str, object]] = []

    class RateLimitError(Exception):
        def __init__(self) -> None:
            self.status_code = 429
            super().__init__("slow down")

    async def acompletion(**arguments: object) -> Dumped:
        asked.append(arguments)
        if len(asked) == 2:
            raise RateLimitError
        return Dumped({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "model": "m"})

    fake = types.SimpleNamespace(acompletion=acompletion, Timeout=TimeoutError, APIConnectionError=ConnectionError)
    monkeypatch.setitem(sys.modules, "litellm", fake)  # type: ignore[arg-type]
    provider = LiteLLMProvider(Endpoint("litellm", "bedrock/x"))
    assert (await provider.complete(asking("hello"))).text == "yes"
    with pytest.raises(ModelError) as caught:
        await provider.complete(asking("hello"))
    assert caught.value.kind == "rate_limited"
    assert (asked[0]["model"], asked[0]["num_retries"], asked[0]["max_tokens"]) == ("bedrock/x", 0, 64)
