from __future__ import annotations

import sys

import pytest

from skillopt.config.schema import Config
from skillopt.model.doctor import Finding, diagnose, expected_cost
from skillopt.testing.wire_server import WireServer

KEY = "sk-very-secret-key-1234567890"


def named(findings: tuple[Finding, ...], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


async def test_offline_nothing_is_called_and_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.setenv("PATH", "/nonexistent")
    config = Config.model_validate({"model": {"target_backend": "qwen_chat", "target": "Qwen/Qwen3.5-4B"}})
    findings = await diagnose(config, {"TARGET_QWEN_CHAT_BASE_URL": "http://127.0.0.1:1/v1"}, offline=True)
    broken = named(findings, "optimizer endpoint")
    assert not broken.ok and "AZURE_OPENAI_ENDPOINT" in broken.detail and broken.mend
    assert "127.0.0.1:1" in named(findings, "target endpoint").detail
    assert not [f for f in findings if f.name.endswith("call")]
    litellm = named(findings, "package litellm")
    assert (litellm.ok, litellm.needed, litellm.mend) == (False, False, 'pip install "skillopt[litellm]"')
    assert "npm install" in named(findings, "program codex").mend


async def test_one_tiny_call_for_each_role_and_one_for_structure():
    async with WireServer(key=KEY) as server:
        config = Config.model_validate({"budget": {"price_per_million_tokens": {"input": 1.0, "output": 2.0}}})
        environ = {"AZURE_OPENAI_ENDPOINT": f"{server.origin}/v1", "AZURE_OPENAI_API_KEY": KEY}
        findings = await diagnose(config, environ, offline=False)
        cost = expected_cost(config, environ)
    assert len(server.seen) == 4
    assert sorted(seen.body["max_completion_tokens"] for seen in server.seen) == [16, 16, 512, 512]
    assert named(findings, "target call").ok and named(findings, "target call").usage.cost_usd > 0
    assert named(findings, "target structured output").ok, "this server says the JSON of the question again"
    spent = sum(finding.usage.cost_usd for finding in findings)
    assert cost is not None and 0 < spent <= cost
    assert KEY not in repr(findings)


async def test_a_wrong_key_and_an_absent_server_say_what_mends_them():
    async with WireServer(key="other") as server:
        environ = {
            "AZURE_OPENAI_ENDPOINT": f"{server.origin}/v1",
            "AZURE_OPENAI_API_KEY": KEY,
            "TARGET_AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9/v1",
        }
        findings = await diagnose(Config(), environ, offline=False)
    refused, absent = named(findings, "optimizer call"), named(findings, "target call")
    assert not refused.ok and "API_KEY" in refused.mend
    assert not absent.ok and "start the server" in absent.mend
    assert KEY not in repr(findings)


async def test_a_dollar_cap_without_a_price_is_a_fault():
    config = Config.model_validate({"budget": {"max_cost_usd": 1.0}})
    findings = await diagnose(config, {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/v1"}, offline=True)
    price = named(findings, "target price")
    assert not price.ok and price.needed and "budget.target_price_per_million_tokens" in price.mend
