"""The functions for benchmark authors: from threads, for the right run, and nowhere else."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

import skillopt.model as public
from skillopt.config.schema import Config
from skillopt.errors import ModelError, SkillOptError
from skillopt.model.assemble import assemble
from skillopt.model.current import bind, collect
from skillopt.model.gateway import Gateway, build_gateway
from skillopt.model.types import Image, Request, Text
from skillopt.testing.scripted import ScriptedProvider
from skillopt.testing.wire_contract import PIXEL
from skillopt.testing.wire_server import WireServer


def echo(name: str, requests: list[Request] | None = None) -> Gateway:
    def answer(request: Request) -> str:
        if requests is not None:
            requests.append(request)
        return f"{name}: {request.messages[-1].text}"

    return build_gateway(ScriptedProvider(answer))


async def test_both_roles_from_many_threads():
    loop = asyncio.get_running_loop()

    def work(n: int) -> str:
        text, usage = (public.chat_target if n % 2 else public.chat_optimizer)("system", f"question {n}")
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        return text

    def batch() -> list[str]:
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(work, range(40)))

    with bind(echo("target"), echo("optimizer"), loop):
        texts = await asyncio.to_thread(batch)
        summary = await asyncio.to_thread(public.get_token_summary)
        await asyncio.to_thread(public.reset_token_tracker)
        after = await asyncio.to_thread(public.get_token_summary)
    assert texts[:2] == ["optimizer: question 0", "target: question 1"]
    assert (summary["target"]["calls"], summary["_total"]["calls"]) == (20, 40)
    assert after["_total"]["calls"] == 0


async def test_two_runs_in_one_process_do_not_mix():
    loop = asyncio.get_running_loop()

    async def run(name: str) -> set[str]:
        with bind(echo(name), echo("x"), loop):
            await asyncio.sleep(0)
            asked = [asyncio.to_thread(public.chat_target, "s", "q") for _ in range(10)]
            return {text for text, _ in await asyncio.gather(*asked)}

    assert await asyncio.gather(run("a"), run("b")) == [{"a: q"}, {"b: q"}]
    with bind(echo("a"), echo("x"), loop), bind(echo("b"), echo("x"), loop), ThreadPoolExecutor(1) as pool:
        foreign = asyncio.wrap_future(pool.submit(public.chat_target, "s", "q"))
        error = (await asyncio.gather(foreign, return_exceptions=True))[0]
    assert isinstance(error, SkillOptError) and "2 runs" in str(error)


async def test_outside_a_run_and_on_the_loop_the_error_says_what_to_do():
    with pytest.raises(SkillOptError, match=r"skillopt\.train"):
        await asyncio.to_thread(public.chat_target, "s", "q")
    with bind(echo("a"), echo("b"), asyncio.get_running_loop()), pytest.raises(SkillOptError, match="to_thread"):
        public.chat_target("s", "q")


async def test_a_model_error_arrives_as_itself():
    gateway = build_gateway(ScriptedProvider([ModelError("auth", "no")]))
    with bind(gateway, gateway, asyncio.get_running_loop()), pytest.raises(ModelError, match="no"):
        await asyncio.to_thread(public.chat_target, "s", "q")


async def test_messages_tools_and_images_in_the_loose_form():
    requests: list[Request] = []
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    rows = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    choice = {"type": "function", "function": {"name": "f"}}
    gateway = echo("t", requests)
    with bind(gateway, gateway, asyncio.get_running_loop(), reasoning_effort="low", temperature=0.3):
        message, _ = await asyncio.to_thread(
            lambda: public.chat_target_messages(rows, 99, tools=tools, tool_choice=choice, return_message=True)
        )
        with pytest.raises(SkillOptError, match="wizard"):
            await asyncio.to_thread(public.chat_target_messages, [{"role": "wizard", "content": ""}])
    (request,) = requests
    assert [m.role for m in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.messages[1].parts == (Text("see"), Image(PIXEL))
    assert (request.messages[2].tool_calls[0].name, request.messages[3].tool_call_id) == ("f", "1")
    assert (request.tools[0].name, request.tool_choice, request.max_tokens) == ("f", "f", 99)
    assert (request.reasoning_effort, request.temperature) == ("low", 0.3)
    assert isinstance(message, public.CompatAssistantMessage)
    assert message.model_dump(mode="json") == {"role": "assistant", "content": "t: rain"}


async def test_a_tool_call_as_an_object_and_another_deployment():
    async with WireServer() as server:
        models = assemble(Config(), {"AZURE_OPENAI_ENDPOINT": f"{server.origin}/v1"})
        loop = asyncio.get_running_loop()
        tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
        with bind(models.target, models.optimizer, loop, deployment=models.deployment), collect() as used:
            message, _ = await asyncio.to_thread(
                lambda: public.chat_optimizer_messages(
                    [{"role": "user", "content": "use a tool"}], tools=tools, return_message=True
                )
            )
            text, _ = await asyncio.to_thread(public.chat_with_deployment, "judge-1", "", "hello")
        await models.close()
    assert isinstance(message, public.CompatAssistantMessage)
    call = message.tool_calls[0]
    assert (call.id, call.type, call.function.name, call.function.arguments) == (
        "call_1", "function", "weather", '{"place": "here"}',
    )  # fmt: skip
    assert text == "You said: hello" and server.seen[-1].body["model"] == "judge-1"
    assert sum(usage.calls for usage in used) == 2
