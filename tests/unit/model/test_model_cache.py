from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.config.schema import Config
from skillopt.errors import ModelError
from skillopt.model.assemble import assemble
from skillopt.model.cache import AnswerStore, key_of
from skillopt.model.gateway import build_gateway
from skillopt.model.types import Completion, Message, Request, ToolCall
from skillopt.testing.scripted import ScriptedProvider
from skillopt.testing.server import LoopbackServer
from skillopt.types import Usage

REQUEST = Request((Message("user", "hello"),), stage="analyst")


async def test_an_equal_question_is_paid_for_once(tmp_path: Path):
    provider = ScriptedProvider(["first", "second"])
    gateway = build_gateway(provider, store=AnswerStore(tmp_path / "deep" / "a.sqlite"))
    one = await gateway.complete(REQUEST)
    again = await gateway.complete(replace(REQUEST, stage="merge", timeout=3.0))
    other = await gateway.complete(replace(REQUEST, temperature=0.5))
    assert (one.text, again.text, other.text) == ("first", "first", "second")
    assert again.usage == Usage() and gateway.stats.calls == 2


async def test_tool_calls_come_back(tmp_path: Path):
    class Caller:
        identity = "caller"

        async def complete(self, request: Request) -> Completion:
            return Completion("", Usage(1), "tool_calls", "m", (ToolCall("1", "weather", "{}"),))

        async def close(self) -> None: ...

    gateway = build_gateway(Caller(), store=AnswerStore(tmp_path / "a.sqlite"))
    first = await gateway.complete(REQUEST)
    assert replace(await gateway.complete(REQUEST), usage=first.usage) == first


def test_the_key_names_question_and_model():
    keys = {
        key_of(REQUEST, "m"),
        key_of(REQUEST, "n"),
        key_of(replace(REQUEST, max_tokens=1), "m"),
        key_of(replace(REQUEST, messages=(Message("system", "hello"),)), "m"),
        key_of(replace(REQUEST, json_schema={"type": "object"}), "m"),
    }
    assert len(keys) == 5


async def test_failures_are_not_kept(tmp_path: Path):
    provider = ScriptedProvider([ModelError("bad_request", "no"), "yes"])
    gateway = build_gateway(provider, store=AnswerStore(tmp_path / "a.sqlite"))
    with pytest.raises(ModelError):
        await gateway.complete(REQUEST)
    assert (await gateway.complete(REQUEST)).text == "yes"


@pytest.mark.parametrize(
    ("mode", "kept"),
    [("off", (2, 2, 2)), ("optimizer", (1, 2, 2)), ("all", (1, 1, 2))],
)
async def test_what_may_be_kept(tmp_path: Path, mode: str, kept: tuple[int, int, int]):
    async with LoopbackServer() as server:
        config = Config.model_validate({"model": {"cache": mode, "cache_file": str(tmp_path / "a.sqlite")}})
        models = assemble(config, {"AZURE_OPENAI_ENDPOINT": server.url})
        cold = replace(REQUEST, temperature=0.0, messages=(Message("user", "cold"),))
        counts: list[int] = []
        for gateway, request in ((models.optimizer, REQUEST), (models.target, cold), (models.target, REQUEST)):
            before = server.counts.requests
            for _ in range(2):
                await gateway.complete(replace(request, extra={"n": len(counts)}))
            counts.append(server.counts.requests - before)
        await models.close()
    assert tuple(counts) == kept


async def test_a_broken_file_costs_a_warning_and_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"this is not a database, and it is long enough to be noticed" * 100)
    gateway = build_gateway(ScriptedProvider(["a", "b"]), store=AnswerStore(path))
    with caplog.at_level(logging.WARNING):
        assert [(await gateway.complete(REQUEST)).text for _ in range(2)] == ["a", "b"]
    assert len(caplog.records) == 1


def test_several_processes_share_a_file(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    code = (
        "import asyncio, pathlib, sys\n"
        "from skillopt.model.cache import AnswerStore\n"
        "async def main():\n"
        "    store = AnswerStore(pathlib.Path(sys.argv[1]))\n"
        "    await asyncio.gather(*(store.put(f'{sys.argv[2]}-{n}', {'text': 'x'}) for n in range(40)))\n"
        "asyncio.run(main())\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(path), str(n)]) for n in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone() == (120,)
    assert asyncio.run(AnswerStore(path).get("2-39")) == {"text": "x"}
