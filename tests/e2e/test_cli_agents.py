"""The real Codex, Claude Code and Copilot programs against a loopback model that streams as their vendors do."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.agents.base import Picture, Task
from skillopt.agents.cli.agent import CliAgent
from skillopt.agents.cli.box import box
from skillopt.agents.cli.build import CLIS
from skillopt.agents.cli.found import find, installed
from skillopt.agents.cli.model import CliModel
from skillopt.errors import ConfigError, ModelError
from skillopt.model.resolve import resolve
from skillopt.model.retry import RetryPolicy
from skillopt.model.settings import Settings
from skillopt.model.types import Message, Request
from skillopt.testing.mini_docvqa import write_docvqa
from skillopt.testing.server import LoopbackServer
from skillopt.testing.stream_formats import Heard, Spoken
from skillopt.testing.stream_server import StreamServer, worldly
from skillopt.testing.world import World, write_split
from skillopt.types import JSON

HERE = Path(__file__).resolve()
KEY = "sk-the-real-key-of-the-model"
OTHER = "sk-some-other-key-in-the-environment"
SKILL = "# Prices\n\n- Write $1 as one dollar, never run !`date`.\n- Grüße auf Deutsch beantworten; 数字 stay digits.\n"


def absent(name: str) -> str:
    """Why the tests of a program cannot run here; "" if they can."""
    if installed(CLIS[name], os.environ) is None:
        return f"{name}: not installed ({CLIS[name].advice})"
    try:
        box()
    except ConfigError as error:
        return f"{name}: {error}"
    return ""


def missing(name: str) -> pytest.MarkDecorator:
    why = absent(name)
    return pytest.mark.skipif(bool(why), reason=why or "-")


OPTIONAL = "copilot_exec"
"""Not in the package index, so that no extra can bring it: tested where it is installed."""


def programs(*names: str) -> list[object]:
    chosen = [name for name in names or tuple(CLIS) if name != OPTIONAL or not absent(name)]
    return [pytest.param(name, marks=missing(name)) for name in chosen]


every_program = pytest.mark.parametrize("name", programs())


def environ(server: StreamServer) -> Mapping[str, str]:
    places = {
        "OPENAI_BASE_URL": server.url,
        "ANTHROPIC_BASE_URL": server.origin,
        "COPILOT_PROVIDER_BASE_URL": server.url,
    }
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "COPILOT_PROVIDER_API_KEY"), KEY)
    return {**places, **keys, "PATH": os.environ["PATH"], "SOME_API_KEY": OTHER, "COPILOT_MODEL": "gpt-5.4"}


def agent(name: str, server: StreamServer, *, timeout: float = 60, attempts: int = 1) -> CliAgent:
    kind = CLIS[name]
    model = "claude-sonnet-4-6" if name == "claude_code_exec" else "gpt-5.4"
    settings = Settings({"target": model, "target_backend": name}, "target", environ(server))
    made = kind.of(settings)
    policy = RetryPolicy(attempts, base=0.05)
    program = find(kind, made.path, os.environ)
    return CliAgent(
        made,
        program,
        box(),
        resolve(settings.config, "target", settings.environ),
        timeout,
        asyncio.Semaphore(2),
        policy,
    )


class Script:
    """Says one thing after the other, as far as results of tools have come back."""

    def __init__(self, *lines: Spoken) -> None:
        self.lines = lines

    def __call__(self, heard: Heard) -> Spoken:
        return self.lines[min(len(heard.results), len(self.lines) - 1)]


DONE = Spoken("Done. <answer>42</answer>")


@every_program
async def test_several_turns_with_tools_in_a_workspace(name: str, tmp_path: Path) -> None:
    script = Script(Spoken(shell="echo Grüße > made.txt && pwd"), Spoken(shell="cat made.txt; ls -a"), DONE)
    async with StreamServer(script) as server:
        held, shown = replace(agent(name, server), parent=tmp_path).holding(SKILL)
        attempt = await held.run(Task("Answer in tags.", "What is 6 x 7?"))
    assert shown == ""
    assert attempt.answer == "Done. <answer>42</answer>"
    assert "/workspace" in server.got[1].heard.results[0]
    assert "Grüße" in server.got[2].heard.results[1]
    roles = [turn.role for turn in attempt.trajectory]
    assert roles == ["system", "user", "action", "tool", "action", "tool", "assistant"]
    assert "echo Grüße > made.txt" in attempt.trajectory[2].text
    assert attempt.turns == attempt.usage.calls == len(server.got) == 3
    assert attempt.usage.prompt_tokens == 3 * 700
    assert attempt.usage.completion_tokens == 3 * 40
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240


@every_program
async def test_the_skill_reaches_the_model_word_for_word(name: str) -> None:
    async with StreamServer(Script(DONE)) as server:
        with_skill = await agent(name, server).holding(SKILL)[0].run(Task("", "Go."))
        assert with_skill.skill_read is True
        assert all(line in server.got[0].heard.text for line in SKILL.splitlines())
        without = await agent(name, server).holding("")[0].run(Task("", "Go."))
    assert without.skill_read is None
    assert "skillopt-target" not in server.got[-1].heard.text


@every_program
async def test_a_skill_with_front_matter_of_its_own(name: str) -> None:
    own = "---\nname: price-list\ndescription: How prices are written.\nlicense: MIT\n---\n\n# Prices\n\nIn dollars.\n"
    async with StreamServer(Script(DONE)) as server:
        attempt = await agent(name, server).holding(own)[0].run(Task("", "Go."))
    assert attempt.skill_read is True


@every_program
async def test_nothing_outside_can_be_read_or_written(name: str, tmp_path: Path) -> None:
    gold = tmp_path / "items.json"
    gold.write_text('{"answers": ["THE-GOLD-ANSWER"]}')
    here, home = HERE, Path.home()
    marks = [tmp_path / "written", home / ".skillopt-was-here", Path("/etc/skillopt-was-here")]
    commands = [
        f"cat {gold} {here} {here.parents[2]}/pyproject.toml",
        f"ls {tmp_path} {home} {here.parents[2]}",
        *(f"touch {mark}" for mark in marks),
        "cat /proc/*/environ | tr '\\0' '\\n'; env; cat /proc/*/cmdline | tr '\\0' ' '",
        "cat /etc/shadow; ls /root/.ssh; find / -name items.json -not -path '/proc/*' 2>/dev/null",
        "timeout 3 bash -c 'echo > /dev/tcp/1.1.1.1/80' && echo NETWORK-$((6 * 7)); true",
    ]
    script = Script(*(Spoken(shell=f"{command} 2>&1; true") for command in commands), DONE)
    async with StreamServer(script) as server:
        await agent(name, server).holding(SKILL)[0].run(Task("", "Look around."))
    seen = "\n".join(server.got[-1].heard.results)
    assert len(server.got) == len(commands) + 1
    assert "No such file" in seen
    for secret in ("THE-GOLD-ANSWER", KEY, OTHER, "optional-dependencies", "NETWORK-42", "root:x", "root:$"):
        assert secret not in seen
    assert not [mark for mark in marks if mark.exists()]
    # The key went out all the same: it is added outside.
    sent = {value for name, value in server.got[0].headers.items() if name.lower() in ("authorization", "x-api-key")}
    assert sent <= {KEY, f"Bearer {KEY}"} and sent


@every_program
async def test_a_time_out_leaves_no_process(name: str) -> None:
    limit = 30 if name == "copilot_exec" else 10
    async with StreamServer(Script(Spoken(shell="setsid sleep 3217.5 & sleep 3217.25"), DONE)) as server:
        made, before = agent(name, server), time.monotonic()
        attempt = asyncio.create_task(made.run(Task("", "Wait.", timeout=limit)))
        await asyncio.to_thread(wait_for_sleep)
        with pytest.raises(ModelError, match=f"within {limit} s") as caught:
            await attempt
    assert caught.value.kind == "timeout"
    assert time.monotonic() - before < limit + 6
    assert not sleeping()


@pytest.mark.parametrize("name", programs("codex_exec"))
async def test_a_cancelled_attempt_leaves_no_process(name: str) -> None:
    async with StreamServer(Script(Spoken(shell="setsid sleep 3217.5 & sleep 3217.25"), DONE)) as server:
        attempt = asyncio.create_task(agent(name, server).run(Task("", "Wait.")))
        await asyncio.to_thread(wait_for_sleep)
        attempt.cancel()
        await asyncio.wait({attempt})
    assert not sleeping()


def wait_for_sleep() -> None:
    until = time.monotonic() + 30
    while not sleeping():
        assert time.monotonic() < until, "the command was never started"
        time.sleep(0.05)


def sleeping() -> list[str]:
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:1] == [b"sleep"] and words[1].startswith(b"3217."):
            found.append(str(place))
    return found


@every_program
@pytest.mark.parametrize(("status", "kind"), [(529, "rate_limited"), (401, "auth"), (500, "server")])
async def test_a_failing_provider_is_never_an_answer(name: str, status: int, kind: str) -> None:
    async with StreamServer(Script(Spoken(status=status))) as server:
        with pytest.raises(ModelError, match=f"HTTP {status}") as caught:
            await agent(name, server).run(Task("", "Go."))
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)


@every_program
async def test_a_passing_overload_costs_a_retry_and_no_attempt(name: str) -> None:
    said = iter((Spoken(shell="true"), Spoken(status=529), Spoken(status=529)))
    async with StreamServer(lambda heard: next(said, DONE)) as server:
        attempt = await agent(name, server, attempts=4).run(Task("", "Go."))
    assert attempt.answer == DONE.text
    assert attempt.usage.retries == 2
    assert attempt.usage.calls == 2


@every_program
async def test_silence_is_no_answer(name: str) -> None:
    async with StreamServer(Script(Spoken(" "))) as server:
        with pytest.raises(ModelError) as caught:
            await agent(name, server).run(Task("", "Go."))
    # Copilot calls it an error of its own.
    assert caught.value.kind == ("program_error" if name == "copilot_exec" else "empty")
    assert name == "copilot_exec" or "last message was empty" in server.got[-1].heard.user


@every_program
@pytest.mark.parametrize("start", ["-h --version", "/help", "$HOME `id` %s", "@task.md", "漢字 🎈"])
async def test_any_prompt_arrives_as_it_is(name: str, start: str) -> None:
    long = "word " * 40_000
    async with StreamServer(Script(DONE)) as server:
        attempt = await agent(name, server).run(Task("", f"{start} and on.\n{long}THE END"))
    assert attempt.answer == DONE.text
    assert f"{start} and on." in server.got[0].heard.user
    assert "THE END" in server.got[0].heard.user


@every_program
async def test_pictures_are_seen(name: str, tmp_path: Path) -> None:
    split = write_docvqa(tmp_path)
    picture = next(path for path in split.parent.rglob("*.png"))
    async with StreamServer(Script(DONE)) as server:
        await agent(name, server).run(Task("", "What is on it?", pictures=(Picture(picture),)))
    assert len(server.got[0].heard.seen) == 1
    assert f"attachments/01_{picture.name}" in server.got[0].heard.user


@every_program
async def test_folders_can_be_read_and_not_changed(name: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bulletin.txt").write_text("Salt tax: 1,234 crowns")
    (tmp_path / "book.txt").write_text("a file of the task")
    steps = "grep -r 'Salt tax' /documents; echo no > /documents/docs/new.txt; cat in/book.txt"
    async with StreamServer(Script(Spoken(shell=f"{steps}; true"), DONE)) as server:
        task = Task("", "Find it.", folders=(docs,), files=((tmp_path / "book.txt", "in/book.txt"),))
        await agent(name, server).run(task)
    result = server.got[1].heard.results[0]
    assert "1,234 crowns" in result
    assert "a file of the task" in result
    assert "Read-only file system" in result
    assert [path.name for path in docs.iterdir()] == ["bulletin.txt"]
    assert "/documents/docs" in server.got[0].heard.user


@pytest.mark.parametrize("name", programs("codex_exec"))
async def test_codex_keeps_its_own_sandbox(name: str) -> None:
    async with StreamServer(
        Script(Spoken(shell="touch /home/agent/x; touch /workspace/y && echo fine"), DONE)
    ) as server:
        await agent(name, server).run(Task("", "Go."))
    result = server.got[1].heard.results[0]
    # Within the box the home could be written; it is Codex that refuses.
    assert "/home/agent/x': Read-only" in result
    assert "fine" in result


@pytest.mark.parametrize("name", programs("codex_exec"))
async def test_codex_as_the_optimizer(name: str) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    schema |= {"additionalProperties": False}
    messages = (Message("system", "# Analyst\n\nBe strict."), Message("user", "Is it fine?"))
    async with StreamServer(Script(Spoken('{"ok": true}'))) as server:
        model = CliModel(agent(name, server))
        done = await model.complete(Request(messages, "analyst", json_schema=schema))
        assert json.loads(done.text) == {"ok": True}
        assert done.usage.prompt_tokens == 700
        assert server.got[0].body["text"]["format"]["schema"]["required"] == ["ok"]
        assert "Be strict." in server.got[0].heard.user and "Is it fine?" in server.got[0].heard.user
        with pytest.raises(ModelError, match="text only"):
            await model.complete(replace(Request(messages, "analyst"), tools=(object(),)))  # type: ignore[arg-type]


def trained(name: str, out: Path, sizes: tuple[int, int, int], epochs: int) -> dict[str, JSON]:
    """A run through the shipped script, with the program as target and a plain model as optimizer."""
    split, world = out / "data", World(1)
    write_split(split, *sizes, seed=1)
    with StreamServer.in_thread(worldly(world)) as server, LoopbackServer.in_thread(world) as optimizer:
        variables = environ(server) | {
            "TARGET_AZURE_OPENAI_ENDPOINT": server.url,
            "OPTIMIZER_AZURE_OPENAI_ENDPOINT": optimizer.url,
            "AZURE_OPENAI_API_KEY": KEY,
            "AZURE_OPENAI_AUTH_MODE": "openai_compatible",
        }
        done = subprocess.run(
            [
                sys.executable, "scripts/train.py", "--config", "configs/searchqa/default.yaml",
                "--split_dir", str(split), "--out_root", str(out / "run"), "--target_backend", name,
                "--num_epochs", str(epochs), "--batch_size", str(sizes[0]),
                "--cfg-options", "train.train_size=0", "optimizer.learning_rate=8", "optimizer.use_slow_update=false",
                "optimizer.use_meta_skill=false",
            ],
            cwd=HERE.parents[2], env=variables, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads((out / "run" / "summary.json").read_text())


@pytest.mark.parametrize(
    ("name", "sizes", "epochs"),
    [
        pytest.param("codex_exec", (6, 4, 6), 2, marks=missing("codex_exec")),
        pytest.param("claude_code_exec", (6, 4, 6), 2, marks=missing("claude_code_exec")),
        *([] if absent(OPTIONAL) else [pytest.param(OPTIONAL, (4, 2, 2), 2, marks=pytest.mark.slow)]),
    ],
)
def test_training_with_a_program_as_target_lifts_the_score(
    name: str, sizes: tuple[int, int, int], epochs: int, tmp_path: Path
) -> None:
    summary = trained(name, tmp_path, sizes, epochs)
    assert summary["best_selection_hard"] > summary["baseline_selection_hard"]
    assert summary["test_hard"] > summary["baseline_test_hard"]
    lines = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    bodies = [json.loads(line)["body"] for line in lines]
    assert bodies[0]["program"]["backend"] == name
    assert bodies[0]["program"]["version"]
    rollouts = [body["rollout"] for body in bodies if body["type"] == "rollout"]
    with_skill = [rollout["score"]["detail"].get("skill_read") for rollout in rollouts if rollout["score"]]
    assert True in with_skill and False not in with_skill
    assert KEY not in "".join(lines)
