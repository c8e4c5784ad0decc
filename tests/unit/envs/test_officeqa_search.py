"""The search service: what is sent, what is tried again, what is never told; and the talk around it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from skillopt.agents.base import Task
from skillopt.envs.officeqa.adapter import OfficeQA
from skillopt.envs.officeqa.dialogue import Limits, queries, searched
from skillopt.envs.officeqa.search import MOST_CHARACTERS, HttpSearch, Service, results_text
from skillopt.errors import ModelError
from skillopt.model.types import Completion, Message
from skillopt.types import Usage

TOKEN = "Bearer t0p-s3cret"


@asynccontextmanager
async def service(
    answer: Callable[[int], web.Response], delay: float = 0.0
) -> AsyncIterator[tuple[str, list[web.BaseRequest], list[dict]]]:
    seen: list[web.BaseRequest] = []
    bodies: list[dict] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        bodies.append(json.loads(await request.text()))
        await asyncio.sleep(delay)
        return answer(len(seen))

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/search", seen, bodies
    finally:
        await runner.cleanup()


class Waits:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_a_query_is_posted_with_the_token_in_the_header_alone() -> None:
    rows = {"results": [{"title": "T", "url": "https://x", "snippet": "S"}, {"name": "U", "content": f"echo {TOKEN}"}]}
    async with service(lambda n: web.json_response(rows)) as (url, seen, bodies):
        made = Service(url, TOKEN, "VAR", "engine", 3)
        assert await HttpSearch(made).find("debt 1953") == "T\nhttps://x\nS\n\nU\necho [token]"
    assert bodies == [{"query": "debt 1953", "max_num_results": 3, "provider": "engine"}]
    assert seen[0].headers["Authorization"] == TOKEN and TOKEN not in repr(made) + repr(HttpSearch(made))


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_passing_failures_are_tried_again(status: int) -> None:
    waits = Waits()

    def answer(n: int) -> web.Response:
        return web.json_response([]) if n == 4 else web.Response(status=status, headers={"Retry-After": "3"})

    async with service(answer) as (url, seen, _):
        assert await HttpSearch(Service(url), sleep=waits).find("q") == "no results"
    assert len(seen) == 4 and waits.seconds == [3.0, 3.0, 4.0]


async def test_after_four_retries_it_is_missing_data(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    waits = Waits()
    async with service(lambda n: web.Response(status=503, text=TOKEN)) as (url, seen, _):
        with pytest.raises(ModelError) as caught:
            await HttpSearch(Service(url, TOKEN), sleep=waits).find("q")
    assert (len(seen), waits.seconds, caught.value.kind) == (5, [1.0, 2.0, 4.0, 8.0], "server")
    assert "t0p-s3cret" not in str(caught.value) + caplog.text


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (403, "auth"), (404, "not_found"), (422, "bad_request")])
async def test_a_refusal_is_not_tried_again(status: int, kind: str) -> None:
    async with service(lambda n: web.Response(status=status)) as (url, seen, _):
        with pytest.raises(ModelError) as caught:
            await HttpSearch(Service(url, TOKEN, "VAR")).find("q")
    assert len(seen) == 1 and caught.value.kind == kind and ("VAR" in str(caught.value)) == (kind == "auth")


async def test_a_redirect_is_not_followed() -> None:
    async with service(lambda n: web.Response(status=302, headers={"Location": "/elsewhere"})) as (url, seen, _):
        with pytest.raises(ModelError, match="redirects are not followed"):
            await HttpSearch(Service(url, TOKEN)).find("q")
    assert len(seen) == 1


async def test_a_service_that_is_away_is_a_connection_failure() -> None:
    async with service(lambda n: web.Response()) as (url, _, _):
        pass
    with pytest.raises(ModelError) as caught:
        await HttpSearch(Service(url, TOKEN), sleep=Waits()).find("q")
    assert caught.value.kind == "connection" and caught.value.__cause__ is None


async def test_a_service_that_hangs_is_a_timeout() -> None:
    async with service(lambda n: web.Response(), delay=0.2) as (url, _, _):
        with pytest.raises(ModelError) as caught:
            await HttpSearch(Service(url, seconds=0.03), sleep=Waits()).find("q")
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "no results"), ("plain words", "plain words"), ('{"data": ["a", {"link": "b"}]}', "a\n\nb"),
        ('{"answer": 5}', '{"answer": 5}'), ('{"results": []}', "no results"), ("[{}]", "no results"),
    ],
)  # fmt: skip
def test_results_of_any_shape(body: str, text: str) -> None:
    assert results_text(body) == text


def test_long_results_say_that_they_were_cut() -> None:
    assert (
        results_text("x" * 9000).endswith("ask more narrowly]") and len(results_text("x" * 9000)) < MOST_CHARACTERS + 50
    )


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('a <search_queries>["x", " y  z ", "x", 5]</search_queries>', ("x", "y z", "5")),
        ("<SEARCH_QUERIES>\n- first one\n- second,\n</search_queries>", ("first one", "second")),
        ('<search_queries>"only"</search_queries>', ("only",)),
        ("<search_queries>[]</search_queries>", ()),
        ("<search_queries>[{}, null]</search_queries>", ()),
        ("nothing", ()),
    ],
)
def test_queries_of_a_reply(reply: str, expected: tuple[str, ...]) -> None:
    assert queries(reply) == expected


class Talker:
    """Answers from a list and keeps what it was sent."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[Message, ...]] = []

    async def chat(self, messages, *, max_tokens, timeout, tools=()):
        self.sent.append(messages)
        return Completion(self.replies.pop(0), Usage(calls=1))


class Library:
    def __init__(self, error: ModelError | None = None) -> None:
        self.asked: list[str] = []
        self.error = error

    async def find(self, query: str) -> str:
        self.asked.append(query)
        if self.error:
            raise self.error
        return f"found {query}"


def asking(*names: str) -> str:
    return f"<search_queries>{json.dumps(list(names))}</search_queries>"


async def test_rounds_of_searching_end_with_an_answer() -> None:
    agent, library = Talker(asking("a", "b", "c"), "hm", "<answer>5</answer>"), Library()
    attempt = await searched(Task("system", "Question: ?"), agent, library, Limits(9, 2))
    assert (attempt.answer, attempt.turns, attempt.usage.calls) == ("<answer>5</answer>", 3, 3)
    assert library.asked == ["a", "b"]
    results, reminder = agent.sent[1][-1].text, agent.sent[2][-1].text
    assert "Results for 'a':\nfound a" in results and "[left out: 1 more; at most 2 queries a round]" in results
    assert "neither" in reminder
    assert [turn.role for turn in attempt.trajectory][2:] == ["assistant", "tool", "assistant", "tool", "assistant"]


async def test_the_last_round_must_answer() -> None:
    agent, library = Talker(asking("a"), asking("b")), Library()
    attempt = await searched(Task("system", "q"), agent, library, Limits(2, 4))
    assert library.asked == ["a"] and "last round" in agent.sent[1][-1].text and attempt.turns == 2


async def test_a_refused_query_is_the_models_to_mend_and_a_failed_service_is_not() -> None:
    agent = Talker(asking("a"), "<answer>1</answer>")
    await searched(Task("s", "q"), agent, Library(ModelError("bad_request", "HTTP 422")), Limits(3, 4))
    assert "error: HTTP 422" in agent.sent[1][-1].text
    with pytest.raises(ModelError):
        await searched(Task("s", "q"), Talker(asking("a")), Library(ModelError("server", "x")), Limits(3, 4))


async def test_a_whole_attempt_by_search() -> None:
    rows = {"results": [{"title": "Bulletin", "snippet": "receipts were 42"}]}
    async with service(lambda n: web.json_response(rows)) as (url, seen, _):
        options = {"search_mode": "custom_search", "search_api_url": url, "max_tool_turns": 3}
        made = OfficeQA.configured(options).within({"OFFICEQA_CUSTOM_SEARCH_AUTH": TOKEN})
        item = made.item({"id": "1", "question": "Receipts?", "answer": "42"}, "val")
        attempt = await made.attempt(item, "A rule.", Talker(asking("receipts"), "<answer>42</answer>"))
    assert made.score(item, attempt).hard == 1.0 and seen[0].headers["Authorization"] == TOKEN
    assert "receipts were 42" in attempt.trajectory[3].text and TOKEN not in repr(attempt) + repr(vars(made))
