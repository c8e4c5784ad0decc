from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from pydantic import SecretStr

from skillopt.errors import ModelError
from skillopt.model.endpoint import Endpoint
from skillopt.model.gateway import build_gateway
from skillopt.model.providers.openai import OpenAIProvider
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import Completion, Message, Request
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.testing.world import World, all_rules, make_items

ITEMS = make_items(40, seed=0, split="train")
KEY = "sk-loopback-secret-1"


def request(number: int, timeout: float = 5.0) -> Request:
    item = ITEMS[number % len(ITEMS)]
    text = f"{item['context']}\n\n{item['question']}\n{number}"
    return Request((Message("system", all_rules()), Message("user", text)), stage="rollout", timeout=timeout)


async def kinds(faults: Faults, order: list[int], seed: int = 0) -> dict[int, list[str]]:
    """What befalls each request when it is sent three times, in the given order."""
    seen: dict[int, list[str]] = {n: [] for n in order}
    async with LoopbackServer(faults=faults, seed=seed) as server:
        provider = OpenAIProvider(Endpoint(server.url, "m"))
        for number in order * 3:
            try:
                await provider.complete(request(number, timeout=0.05))
                seen[number].append("ok")
            except ModelError as error:
                seen[number].append(error.kind)
        await provider.close()
    return seen


async def test_faults_depend_on_the_request_and_its_count_not_on_order():
    faults = Faults(rate_429=0.2, rate_500=0.2, rate_drop=0.2, rate_malformed=0.2, rate_hang=0.05)
    forward = await kinds(faults, list(range(12)))
    assert forward == await kinds(faults, list(reversed(range(12))))
    assert forward != await kinds(faults, list(range(12)), seed=1)
    met = {kind for row in forward.values() for kind in row}
    assert {"ok", "rate_limited", "server", "connection", "malformed"} <= met


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        (Faults(rate_429=1, retry_after=0.25), "rate_limited"),
        (Faults(rate_500=1), "server"),
        (Faults(rate_drop=1), "connection"),
        (Faults(rate_malformed=1), "malformed"),
        (Faults(rate_hang=1), "timeout"),
    ],
)
async def test_each_fault_is_met_as_its_kind(faults: Faults, kind: str):
    async with LoopbackServer(faults=faults) as server:
        provider = OpenAIProvider(Endpoint(server.url, "m"))
        with pytest.raises(ModelError) as caught:
            await provider.complete(request(0, timeout=0.1))
        assert caught.value.kind == kind
        assert caught.value.retry_after == (0.25 if kind == "rate_limited" else None)
        await provider.close()
        assert server.stats()["answered"] == 0


async def test_a_storm_passes_and_every_request_is_answered_once():
    faults = Faults(rate_429=0.3, retry_after=0.01, rate_500=0.1, rate_drop=0.1, rate_malformed=0.1)
    async with LoopbackServer(faults=faults) as server:
        provider = OpenAIProvider(Endpoint(server.url, "m"))
        gateway = build_gateway(provider, concurrency=50, policy=RetryPolicy(max_attempts=20, base=0.002))
        done = await asyncio.gather(*(gateway.complete(request(n)) for n in range(100)))
        await gateway.close()
        stats = server.stats()
    assert all("<answer>" in completion.text for completion in done)
    assert sum(completion.usage.retries for completion in done) == gateway.stats.retries > 20
    assert stats["answered"] == 100 and set(stats["answers"].values()) == {1}
    assert sum(gateway.stats.errors.values()) == sum(stats["faults"].values())


async def test_the_key_is_checked_on_both_routes():
    async with LoopbackServer(api_key=KEY) as server:
        good = Endpoint(server.url, "m", SecretStr(KEY), "bearer")
        azure = Endpoint(server.origin, "m", SecretStr(KEY), "azure_key", "2024-10-21")
        for endpoint in (good, azure):
            provider = OpenAIProvider(endpoint)
            assert isinstance(await provider.complete(request(1)), Completion)
            await provider.close()
        provider = OpenAIProvider(Endpoint(server.url, "m", SecretStr("sk-another-secret-key"), "bearer"))
        with pytest.raises(ModelError) as caught:
            await provider.complete(request(1))
        await provider.close()
    assert caught.value.kind == "auth" and "another-secret" not in str(caught.value)


async def test_a_thousand_calls_are_really_in_flight():
    with LoopbackServer.in_thread(World(), latency=60.0) as server:
        gateway = build_gateway(OpenAIProvider(Endpoint(server.url, "m")), concurrency=1000)
        calls = [asyncio.ensure_future(gateway.complete(request(n, timeout=60))) for n in range(1100)]
        for _ in range(400):
            await asyncio.sleep(0.05)
            if server.counts.in_flight >= 1000:
                break
        assert server.stats()["in_flight"] == gateway.stats.in_flight == 1000
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        await gateway.close()
    assert gateway.stats.in_flight == 0


async def test_a_reset_forgets_all_but_the_calls_under_way():
    async with LoopbackServer() as server:
        provider = OpenAIProvider(Endpoint(server.url, "m"))
        await provider.complete(request(0))
        assert (server.stats()["requests"], server.stats()["roles"]) == (1, {"target": 1})
        server.reset()
        assert server.stats()["requests"] == server.stats()["in_flight"] == 0
        await provider.close()


def test_it_runs_as_a_process_and_leaves_on_sigterm(tmp_path: Path):
    command = [
        sys.executable,
        "-m",
        "skillopt.testing.server",
        "--write-split",
        str(tmp_path),
        "--sizes",
        "4",
        "3",
        "2",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:") and url.endswith("/v1")
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as response:
            assert json.load(response)["requests"] == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    assert len(json.loads((tmp_path / "val" / "items.json").read_text())) == 3
