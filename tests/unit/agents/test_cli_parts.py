"""The parts of the agent programs' adapter that need no program: processes, workspaces, the relay, events."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from pydantic import SecretStr

from skillopt.agents.base import Picture, Task
from skillopt.agents.cli import process
from skillopt.agents.cli.agent import Witness
from skillopt.agents.cli.base import SKILL_NAME
from skillopt.agents.cli.relay import Relay, lines_of
from skillopt.agents.cli.spent import Reader
from skillopt.agents.cli.story import LONGEST, MOST_TURNS, Story
from skillopt.agents.cli.workspace import furnish, prompt_of, room, skill_file
from skillopt.errors import SkillOptError
from skillopt.model.endpoint import Endpoint
from skillopt.model.retry import RetryPolicy
from skillopt.testing.stream_formats import Heard, Spoken
from skillopt.testing.stream_server import StreamServer
from skillopt.types import JSON

KEY = "sk-the-real-key-of-the-model"


async def ran(script: str, *, seconds: float = 10, stdin: bytes = b"") -> tuple[process.Ended, list[bytes]]:
    lines: list[bytes] = []
    command = ("/bin/sh", "-c", script)
    ended = await process.run(
        command, stdin=stdin, environment={"PATH": "/usr/bin:/bin"}, folder=Path("/"), seconds=seconds,
        heard=lines.append, isolated=False,
    )  # fmt: skip
    return ended, lines


async def test_a_process_is_told_heard_and_ended() -> None:
    ended, lines = await ran("cat; env; echo oops >&2; exit 3", stdin="-Grüße\n".encode())
    assert ended.code == 3
    assert ended.stderr == "oops\n"
    assert lines[0] == "-Grüße".encode()
    assert [line for line in lines if b"=" in line and not line.startswith((b"PATH=", b"PWD=", b"_=", b"SHLVL="))] == []


async def test_time_ends_the_whole_tree() -> None:
    began = time.monotonic()
    ended, _ = await ran("sleep 4321.5 & sleep 4321.5", seconds=0.3)
    assert ended.code is None
    assert time.monotonic() - began < 5
    assert not any(b"4321.5" in command for command in commands())


def commands() -> list[bytes]:
    """The command lines of all processes."""
    found: list[bytes] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(place.read_bytes())
    return found


async def test_a_child_that_reads_nothing_and_writes_much_is_no_trouble() -> None:
    ended, lines = await ran("exec <&-; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", stdin=b"x" * 3_000_000)
    assert ended.code == 0
    assert [len(line) for line in lines] == [3_000_000, 3, 0]


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(SkillOptError, match="could not be started"):
        await process.run(
            ("/no/such/program",), stdin=b"", environment={}, folder=Path("/"), seconds=1,
            heard=lambda line: None, isolated=False,
        )  # fmt: skip


def test_a_skill_becomes_a_package_and_keeps_its_own_front_matter() -> None:
    plain = skill_file("# Rules\n\nBe brief.\n")
    assert plain is not None and plain.name == SKILL_NAME
    assert plain.package.startswith(f"---\nname: {SKILL_NAME}\ndescription: ")
    own = "---\nname: my-skill\ndescription: Mine.\nlicense: MIT\n---\n\nBe brief.\n"
    kept = skill_file(own)
    assert kept is not None
    assert (kept.name, kept.package, kept.body.strip()) == ("my-skill", own, "Be brief.")
    odd = skill_file("---\nname: Not A Name\ndescription: Mine.\n---\nBe brief.\n")
    assert odd is not None and odd.name == SKILL_NAME and "description: Mine." in odd.package
    assert skill_file("  \n") is None
    assert skill_file("---\nname: empty\ndescription: Nothing.\n---\n") is None


def test_a_room_is_furnished_and_cleared(tmp_path: Path) -> None:
    picture, book = tmp_path / "a page: 1.png", tmp_path / "book.xlsx"
    picture.write_bytes(b"\x89PNG")
    book.write_bytes(b"book")
    task = Task("System.", "-User", pictures=(Picture(picture),), files=((book, "in/book.xlsx"),))
    prompt = prompt_of(task, ("/documents/docs",), "Follow it.")
    assert prompt.startswith("Follow it. Carry out")
    assert "\n\nSystem.\n\n-User\n\n" in prompt
    assert "- attachments/01_a_page_1.png" in prompt and "- in/book.xlsx" in prompt and "- /documents/docs" in prompt
    with room(tmp_path) as made:
        copies = furnish(made, task, (".agents/skills/x/SKILL.md", "skill"), prompt)
        assert copies == (made.work / "attachments/01_a_page_1.png",)
        assert (made.work / "task.md").read_text() == prompt
        assert (made.work / "in/book.xlsx").read_bytes() == b"book"
        assert (made.work / ".agents/skills/x/SKILL.md").read_text() == "skill"
        with pytest.raises(SkillOptError, match="not within the workspace"):
            furnish(made, Task("", "", files=((book, "../../book.xlsx"),)), None, "")
    assert not made.root.exists()


def test_a_long_story_keeps_its_beginning_and_its_end() -> None:
    story = Story()
    for number in range(MOST_TURNS + 10):
        story.did(f"step {number}")
    story.saw("x" * (LONGEST * 2))
    story.said("the answer")
    told = story.told(details=True)
    assert told[0].text == "step 0"
    assert told[-1].text == "the answer"
    assert any("steps in the middle" in turn.text for turn in told)
    assert max(len(turn.text) for turn in told) < LONGEST + 100
    assert [turn.text for turn in story.told(details=False)] == ["the answer"]


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (
            b'{"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}',
            (9, 2, 4),
        ),
        (
            b'data: {"message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}}}\n\n'
            b'data: {"type": "message_delta", "usage": {"output_tokens": 7}}\n\n',
            (9, 7, 4),
        ),
        (b'data: {"response": {"usage": {"input_tokens": 9, "output_tokens": 3}}}\n\n', (9, 3, 0)),
    ],
)  # fmt: skip
def test_usage_is_read_off_the_wire_in_any_pieces(answer: bytes, tokens: tuple[int, int, int]) -> None:
    reader = Reader()
    for place in range(0, len(answer), 7):
        reader.feed(answer[place : place + 7])
    usage = reader.usage()
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == tokens
    assert usage.calls == 1 and not usage.unreported


def test_an_answer_without_usage_is_unreported() -> None:
    reader = Reader()
    reader.feed(b'data: {"usage": nonsense}\n')
    assert reader.usage().unreported == 1


def relay(server: StreamServer, attempts: int = 1, wanted: tuple[str, ...] = ()) -> Relay:
    endpoint = Endpoint(server.url, "m", SecretStr(KEY), "bearer")
    routes = {"/responses": f"{server.url}/responses"}
    return Relay(endpoint, routes, "Authorization", RetryPolicy(attempts, base=0.01), wanted)


async def posted(address: str, path: str, body: JSON) -> tuple[int, bytes]:
    headers = {"Authorization": "Bearer sk-placeholder", "x-api-key": "sk-placeholder"}
    async with aiohttp.ClientSession() as session, session.post(address + path, json=body, headers=headers) as answer:
        return answer.status, await answer.read()


async def test_the_relay_knows_a_few_addresses_and_holds_the_key() -> None:
    asked = {"model": "m", "stream": True, "input": [{"role": "user", "content": "1\tRule one: x\n2\tRule two: y"}]}
    async with StreamServer(lambda heard: Spoken("hello")) as server:
        made = relay(server, wanted=lines_of("Rule one: x\n\n  Rule two: y\n"))
        async with made.at(None) as address:
            status, body = await posted(address, "/v1/responses", asked)
            assert status == 200 and b"hello" in body
            assert (await posted(address, "/v1/files", {}))[0] == 404
    assert len(server.got) == 1
    headers = {name.lower(): value for name, value in server.got[0].headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}" and "x-api-key" not in headers
    assert made.seen.usage.prompt_tokens == 700
    assert made.seen.skill


async def test_half_a_skill_is_not_the_skill() -> None:
    async with StreamServer(lambda heard: Spoken("hello")) as server:
        made = relay(server, wanted=("Rule one: x", "Rule two: y"))
        async with made.at(None) as address:
            await posted(
                address, "/v1/responses", {"model": "m", "input": [{"role": "user", "content": "Rule one: x"}]}
            )
    assert not made.seen.skill


async def test_the_relay_tries_again_where_that_may_help() -> None:
    said = iter((Spoken(status=529), Spoken(status=500)))
    async with StreamServer(lambda heard: next(said, Spoken("fine"))) as server:
        made = relay(server, attempts=3)
        async with made.at(None) as address:
            assert (await posted(address, "/v1/responses", {"model": "m", "input": []}))[0] == 200
    assert made.seen.retries == 2 and made.seen.trouble is None


async def test_the_relay_passes_a_last_failure_on_and_names_it() -> None:
    async with StreamServer(lambda heard: Spoken(status=401)) as server:
        made = relay(server, attempts=3)
        async with made.at(None) as address:
            assert (await posted(address, "/v1/responses", {"model": "m", "input": []}))[0] == 401
    assert len(server.got) == 1
    assert made.seen.trouble is not None and made.seen.trouble.kind == "auth"


@pytest.mark.parametrize("complete", [True, False])
async def test_a_program_that_hangs_up_is_no_trouble_but_a_provider_that_does_is(complete: bool) -> None:
    gone = asyncio.Event()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: {}\n\n")
        await gone.wait()
        if complete:
            for _ in range(3):
                await response.write(b'data: {"usage": {"input_tokens": 5, "output_tokens": 1}}\n\n')
                await asyncio.sleep(0.02)
        elif request.transport is not None:
            request.transport.abort()
        return response

    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    made = Relay(Endpoint(base, "m"), {"/responses": f"{base}/responses"}, "Authorization", RetryPolicy(1))
    async with made.at(None) as address, aiohttp.ClientSession() as session:
        answer = await session.post(f"{address}/responses", json={})
        await answer.content.readany()
        answer.close()
        gone.set()
        await asyncio.sleep(0.15)
    await runner.cleanup()
    assert (made.seen.trouble is None) is complete
    assert made.seen.usage.prompt_tokens == (5 if complete else 0)


async def test_a_model_that_cannot_be_reached_is_a_connection_error() -> None:
    endpoint = Endpoint("http://127.0.0.1:9", "m")
    made = Relay(endpoint, {"/responses": "http://127.0.0.1:9/v1/responses"}, "Authorization", RetryPolicy(1))
    async with made.at(None) as address:
        assert (await posted(address, "/v1/responses", {}))[0] == 502
    assert made.seen.trouble is not None and made.seen.trouble.kind == "connection"


def test_one_warning_when_the_skill_is_mostly_not_read(caplog: pytest.LogCaptureFixture) -> None:
    witness = Witness()
    with caplog.at_level(logging.WARNING):
        for read in (True, False, False, False, False, False):
            witness.note(read, "codex_exec")
    assert len(caplog.records) == 1
    assert "did not show the skill" in caplog.text


async def test_a_mind_hears_all_formats() -> None:
    """The loopback model itself: what it hears does not depend on the format."""
    heard_by: list[Heard] = []

    def mind(heard: Heard) -> Spoken:
        heard_by.append(heard)
        return Spoken("ok")

    bodies = {
        "/v1/messages": {"messages": [{"role": "user", "content": "hello"}], "system": "sys"},
        "/v1/responses": {"input": [{"role": "user", "content": "hello"}], "instructions": "sys"},
        "/v1/chat/completions": {
            "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "hello"}]
        },
    }
    async with StreamServer(mind) as server:
        for path, body in bodies.items():
            for stream in (True, False):
                status, raw = await posted(server.origin, path, {"model": "m", "stream": stream, **body})
                assert status == 200 and b"ok" in raw
                assert stream or json.loads(raw)
    assert {(h.text, h.user) for h in heard_by} == {("sys\nhello", "hello")}
    await asyncio.sleep(0)
