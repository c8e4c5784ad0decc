from __future__ import annotations

import json
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from time import time

import pytest
from aiohttp import web
from pydantic import SecretStr

from skillopt.errors import ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.providers.openai import OpenAIProvider
from skillopt.model.types import Message, Request
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.types import Usage

KEY = "sk-very-secret-key-123456"
REQUEST = Request((Message("system", "s"), Message("user", "hello")), stage="rollout", timeout=5.0)
GOOD = {
    "model": "m-1",
    "choices": [{"finish_reason": "stop", "message": {"content": "yes"}}],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
}


@dataclass
class Canned:
    """A server that answers each request by a function of its body and keeps what it was sent."""

    answer: Callable[[dict], tuple[int, object, dict[str, str]]]
    bodies: list[dict] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.Response:
        self.bodies.append(json.loads(await request.read()))
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        status, body, headers = self.answer(self.bodies[-1])
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, headers=headers)


@asynccontextmanager
async def talking_to(
    answer: Callable[[dict], tuple[int, object, dict[str, str]]], auth: str = "bearer"
) -> AsyncIterator[tuple[OpenAIProvider, Canned]]:
    canned = Canned(answer)
    runner = web.ServerRunner(web.Server(canned.handle), shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}" + ("" if auth == "azure_key" else "/v1")
    provider = OpenAIProvider(Endpoint(base, "m-1", SecretStr(KEY), auth, "2024-10-21"))  # type: ignore[arg-type]
    try:
        yield provider, canned
    finally:
        await provider.close()
        await runner.cleanup()


def error(message: str, code: object = None) -> dict[str, object]:
    return {"error": {"message": message, "code": code}}


async def test_a_completion_with_all_its_usage():
    async with talking_to(lambda _: (200, GOOD, {})) as (provider, canned):
        completion = await provider.complete(
            replace(REQUEST, temperature=0.2, reasoning_effort="low", extra={"seed": 7})
        )
    assert (completion.text, completion.finish, completion.model) == ("yes", "stop", "m-1")
    assert completion.usage == Usage(1, 10, 5, 4, 3)
    assert canned.bodies[0] == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}],
        "max_completion_tokens": 16384,
        "temperature": 0.2,
        "reasoning_effort": "low",
        "seed": 7,
    }
    assert canned.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert canned.paths == ["/v1/chat/completions"]


async def test_the_azure_route_takes_the_key_in_its_own_header():
    async with talking_to(lambda _: (200, GOOD, {}), auth="azure_key") as (provider, canned):
        await provider.complete(REQUEST)
    assert canned.paths == ["/openai/deployments/m-1/chat/completions?api-version=2024-10-21"]
    assert canned.headers[0]["api-key"] == KEY and "Authorization" not in canned.headers[0]


async def test_unreported_usage_is_not_zero():
    async with talking_to(lambda _: (200, {k: v for k, v in GOOD.items() if k != "usage"}, {})) as (provider, _):
        assert (await provider.complete(REQUEST)).usage == Usage(calls=1, unreported=1)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error("Incorrect API key"), "auth"),
        (403, error("no access"), "auth"),
        (402, error("pay"), "auth"),
        (429, error("You exceeded your current quota", "insufficient_quota"), "auth"),
        (404, error("no such model"), "not_found"),
        (302, "elsewhere", "not_found"),
        (400, error("bad field"), "bad_request"),
        (422, error("bad field"), "bad_request"),
        (400, error("x", "context_length_exceeded"), "context_length"),
        (400, error("This model's maximum context length is 8192 tokens"), "context_length"),
        (413, "too large", "context_length"),
        (400, error("x", "content_filter"), "content_filter"),
        (429, error("slow down"), "rate_limited"),
        (408, "", "server"),
        (409, "", "server"),
        (500, "<html>oops</html>", "server"),
        (503, "", "server"),
        (200, "{ not json", "malformed"),
        (200, {"choices": []}, "malformed"),
        (200, [], "malformed"),
        (200, {"choices": [{"message": None}]}, "malformed"),
        (200, error("upstream is down", 503), "server"),
        (200, error("upstream is busy", 429), "rate_limited"),
        (200, {"choices": [{"finish_reason": "stop", "message": {"content": "  "}}]}, "empty"),
        (200, {"choices": [{"finish_reason": "content_filter", "message": {"content": None}}]}, "content_filter"),
    ],
)
async def test_every_failure_has_its_kind(status: int, body: object, kind: str):
    async with talking_to(lambda _: (status, body, {})) as (provider, _):
        with pytest.raises(ModelError) as caught:
            await provider.complete(REQUEST)
    assert caught.value.kind == kind
    if status != 200:
        assert f"HTTP {status}" in str(caught.value)


async def test_an_answer_cut_at_the_limit_is_an_answer():
    body = {"choices": [{"finish_reason": "length", "message": {"content": ""}}]}
    async with talking_to(lambda _: (200, body, {})) as (provider, _):
        assert (await provider.complete(REQUEST)).finish == "length"


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry-After": "2.5"}, 2.5, 2.5),
        ({"retry-after-ms": "300"}, 0.3, 0.3),
        ({"Retry-After": 60}, 40.0, 60.0),
        ({"Retry-After": -60}, 0.0, 0.0),
    ],
)
async def test_retry_after_in_all_its_forms(headers: dict[str, str | int], low: float, high: float):
    """A number here stands for a date so many seconds from now."""
    sent = {k: formatdate(time() + v, usegmt=True) if isinstance(v, int) else v for k, v in headers.items()}
    async with talking_to(lambda _: (429, error("slow"), sent)) as (provider, _):
        with pytest.raises(ModelError) as caught:
            await provider.complete(REQUEST)
    assert caught.value.retry_after is not None
    assert low <= caught.value.retry_after <= high


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "soon"}, {"Retry-After": "inf"}])
async def test_an_unusable_retry_after_is_none(headers: dict[str, str]):
    async with talking_to(lambda _: (429, error("slow"), headers)) as (provider, _):
        with pytest.raises(ModelError) as caught:
            await provider.complete(REQUEST)
    assert caught.value.retry_after is None


async def test_a_refused_connection():
    provider = OpenAIProvider(Endpoint("http://127.0.0.1:9/v1", "m-1"))
    with pytest.raises(ModelError) as caught:
        await provider.complete(REQUEST)
    assert caught.value.kind == "connection"
    await provider.close()


async def test_a_late_answer():
    async with LoopbackServer(faults=Faults(rate_hang=1)) as server:
        provider = OpenAIProvider(Endpoint(server.url, "m-1"))
        with pytest.raises(ModelError, match=r"within 0\.05 s") as caught:
            await provider.complete(replace(REQUEST, timeout=0.05))
        await provider.close()
    assert caught.value.kind == "timeout"


async def test_refused_parameters_are_learnt_once(caplog: pytest.LogCaptureFixture):
    def picky(body: dict) -> tuple[int, object, dict[str, str]]:
        for name in ("max_completion_tokens", "reasoning_effort"):
            if name in body:
                return 400, error(f"Unrecognized request argument supplied: {name}"), {}
        return 200, GOOD, {}

    request = replace(REQUEST, reasoning_effort="high")
    async with talking_to(picky) as (provider, canned):
        with caplog.at_level(logging.WARNING):
            assert (await provider.complete(request)).text == "yes"
            assert len(canned.bodies) == 3
            await provider.complete(request)
    assert len(canned.bodies) == 4
    assert canned.bodies[-1]["max_tokens"] == 16384
    assert sum("reasoning_effort" in record.message for record in caplog.records) == 1


async def test_a_complaint_that_stays_is_raised_and_nothing_is_learnt():
    async with talking_to(lambda _: (400, error("max_completion_tokens is too large"), {})) as (provider, canned):
        for _ in range(2):
            with pytest.raises(ModelError) as caught:
                await provider.complete(REQUEST)
            assert caught.value.kind == "bad_request"
    assert ["max_completion_tokens" in body for body in canned.bodies] == [True, False, True, False]


async def test_the_key_is_in_no_text(caplog: pytest.LogCaptureFixture):
    def echo(_: dict) -> tuple[int, object, dict[str, str]]:
        return 401, error(f"Incorrect API key provided: {KEY}. Header was Bearer {KEY}"), {}

    caplog.set_level(logging.DEBUG)
    async with talking_to(echo) as (provider, _):
        with pytest.raises(ModelError) as caught:
            await provider.complete(REQUEST)
        texts = [repr(provider), provider.identity, repr(caught.value), caplog.text]
    texts.append("".join(traceback.format_exception(caught.value)))
    assert not any(KEY in text or "very-secret" in text for text in texts)


async def test_a_key_at_the_edge_of_what_is_shown_is_not_cut_into_the_open():
    async with talking_to(lambda _: (401, "x" * 290 + KEY, {})) as (provider, _):
        with pytest.raises(ModelError) as caught:
            await provider.complete(REQUEST)
    assert "very" not in str(caught.value)


@pytest.mark.parametrize("said", ["response_format.type: unavailable", "Invalid keyword in json_schema: 'enum'"])
async def test_a_server_that_cannot_hold_answers_to_a_schema_is_asked_without(said: str):
    def picky(body: dict) -> tuple[int, object, dict[str, str]]:
        return (400, error(said), {}) if "response_format" in body else (200, GOOD, {})

    async with talking_to(picky) as (provider, canned):
        for _ in range(2):
            assert (await provider.complete(replace(REQUEST, json_schema={"type": "object"}))).text == "yes"
    assert ["response_format" in body for body in canned.bodies] == [True, False, False]
