"""Every `export` and command of the README's part on credentials, and where tokens may go."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from skillopt.config.legacy import overrides_from
from skillopt.config.load import load_config
from skillopt.errors import ConfigError, ModelError
from skillopt.model.assemble import resolved
from skillopt.model.credentials import Token, kept, token_source
from skillopt.model.dotenv import read_env
from skillopt.model.endpoint import Endpoint, SignIn
from skillopt.model.resolve import resolve
from skillopt.model.settings import Role

KEY = "your-key"
AZURE = 'export AZURE_OPENAI_ENDPOINT="https://your-resource.openai.azure.com/"\n'
ROUTE = (
    "https://your-resource.openai.azure.com/openai/deployments/{model}/chat/completions?api-version=2024-12-01-preview"
)


def endpoints(tmp_path: Path, exports: str, **flags: str) -> dict[Role, Endpoint]:
    """Both endpoints of a run started in a shell that ran `exports`, with these flags."""
    path = tmp_path / "c.yaml"
    path.write_text("env: {name: toy}\n")
    config = load_config(path, overrides_from(flags)).config
    return resolved(config, read_env(exports))


def test_azure_with_a_key(tmp_path: Path):
    for endpoint in endpoints(tmp_path, AZURE + 'export AZURE_OPENAI_API_KEY="your-key"').values():
        assert endpoint.auth == "azure_key" and endpoint.url == ROUTE.format(model="gpt-5.5")
        assert endpoint.api_key == SecretStr(KEY)


@pytest.mark.parametrize("more", ['export AZURE_OPENAI_AUTH_MODE="azure_cli"', ""])
def test_azure_with_the_cli_needs_no_key(tmp_path: Path, more: str):
    for endpoint in endpoints(tmp_path, AZURE + more).values():
        assert (endpoint.auth, endpoint.sign_in) == ("azure_token", SignIn("azure_cli"))
        assert endpoint.url == ROUTE.format(model="gpt-5.5") and endpoint.api_key is None


def test_azure_cli_wins_over_a_key_that_is_also_set_and_says_so(tmp_path: Path):
    both = AZURE + 'export AZURE_OPENAI_API_KEY="your-key"\nexport AZURE_OPENAI_AUTH_MODE="azure_cli"'
    endpoint = endpoints(tmp_path, both)["target"]
    assert endpoint.auth == "azure_token" and any("AZURE_OPENAI_API_KEY" in note for note in endpoint.notes)


def test_plain_openai(tmp_path: Path):
    exports = (
        'export AZURE_OPENAI_ENDPOINT="https://api.openai.com/v1"\nexport AZURE_OPENAI_API_KEY="sk-..."\n'
        'export AZURE_OPENAI_AUTH_MODE="openai_compatible"'
    )
    for endpoint in endpoints(tmp_path, exports).values():
        assert (endpoint.auth, endpoint.url) == ("bearer", "https://api.openai.com/v1/chat/completions")


def test_anthropic(tmp_path: Path):
    for endpoint in endpoints(tmp_path, 'export ANTHROPIC_API_KEY="sk-ant-..."', backend="claude").values():
        assert (endpoint.wire, endpoint.base_url) == ("anthropic", "https://api.anthropic.com")
        assert endpoint.model == "claude-sonnet-4-6" and endpoint.api_key == SecretStr("sk-ant-...")


def test_qwen(tmp_path: Path):
    exports = 'export QWEN_CHAT_BASE_URL="http://localhost:8000/v1"\nexport QWEN_CHAT_MODEL="Qwen/Qwen3.5-4B"'
    found = endpoints(tmp_path, exports + "\nexport OPENAI_API_KEY=sk-1", backend="qwen")
    target = found["target"]
    assert (target.url, target.model) == ("http://localhost:8000/v1/chat/completions", "Qwen/Qwen3.5-4B")
    assert (target.auth, target.token_field, target.temperature, target.max_tokens) == ("none", "max_tokens", 0.7, 8000)
    assert found["optimizer"].backend == "openai_chat"
    assert any("thinking_mode" in note for note in target.notes)


def test_two_local_qwen_servers_for_the_two_roles(tmp_path: Path):
    found = endpoints(
        tmp_path,
        "",
        optimizer_backend="qwen_chat",
        target_backend="qwen_chat",
        optimizer_model="Qwen/Qwen3.5-4B",
        target_model="Qwen/Qwen3.5-4B",
        optimizer_qwen_chat_base_url="http://localhost:8001/v1",
        target_qwen_chat_base_url="http://localhost:8000/v1",
    )
    assert {role: e.base_url for role, e in found.items()} == {
        "optimizer": "http://localhost:8001/v1",
        "target": "http://localhost:8000/v1",
    }


def test_minimax(tmp_path: Path):
    exports = (
        'export MINIMAX_BASE_URL="https://api.minimax.io/v1"\nexport MINIMAX_API_KEY="..."\n'
        'export MINIMAX_MODEL="MiniMax-M2.7"\nexport OPENAI_API_KEY=sk-1'
    )
    target = endpoints(tmp_path, exports, backend="minimax")["target"]
    assert (target.base_url, target.model) == ("https://api.minimax.io/v1", "MiniMax-M2.7")
    assert target.extra == {"thinking": {"type": "adaptive"}}, "M2 cannot turn thinking off"


def test_the_command_line_endpoint(tmp_path: Path):
    found = endpoints(
        tmp_path,
        "export AZURE_OPENAI_API_KEY=your-key",
        azure_openai_endpoint="https://your-resource.openai.azure.com/",
        optimizer_model="gpt-5.5",
        target_model="gpt-5.5-mini",
    )
    assert found["target"].url == ROUTE.format(model="gpt-5.5-mini")


@pytest.mark.parametrize(
    ("config", "environ", "base", "extra"),
    [
        ({}, {"MINIMAX_REGION": "cn-zh"}, "https://api.minimaxi.com/v1", "disabled"),
        ({"minimax_region": "cn_zh"}, {"MINIMAX_BASE_URL": "http://mine/v1"}, "http://mine/v1", "disabled"),
        ({"minimax_enable_thinking": True}, {}, "https://api.minimax.io/v1", "adaptive"),
        ({}, {"MINIMAX_ENABLE_THINKING": "yes"}, "https://api.minimax.io/v1", "adaptive"),
    ],
)
def test_minimax_regions_and_thinking(config: dict[str, object], environ: dict[str, str], base: str, extra: str):
    row = {"target": "MiniMax-M3", "target_backend": "minimax", "minimax_temperature": 0.7, **config}
    endpoint = resolve(row, "target", {"MINIMAX_API_KEY": "k", "MINIMAX_TEMPERATURE": "0.2", **environ})
    assert (endpoint.base_url, endpoint.extra) == (base, {"thinking": {"type": extra}})
    assert endpoint.temperature == 0.2, "a variable replaces a default nobody chose"


@pytest.mark.parametrize(
    ("config", "environ", "extra", "temperature"),
    [
        ({}, {}, {}, 0.7),
        ({"qwen_chat_thinking_mode": "enabled"}, {}, {"chat_template_kwargs": {"enable_thinking": True}}, 0.7),
        ({}, {"TARGET_QWEN_CHAT_THINKING_MODE": "off"}, {"chat_template_kwargs": {"enable_thinking": False}}, 0.7),
        ({"qwen_chat_enable_thinking": True}, {}, {"chat_template_kwargs": {"enable_thinking": True}}, 0.7),
        ({"qwen_chat_enable_thinking": False}, {"QWEN_CHAT_TEMPERATURE": ""}, {}, None),
        ({"qwen_chat_temperature": 0.0}, {"QWEN_CHAT_TEMPERATURE": "none"}, {}, 0.0),
        ({}, {"QWEN_CHAT_TEMPERATURE": "none"}, {}, None),
    ],
)
def test_qwen_thinking_has_three_states(
    config: dict[str, object], environ: dict[str, str], extra: dict[str, object], temperature: float | None
):
    endpoint = resolve({"target": "q", "target_backend": "qwen_chat", **config}, "target", environ)
    assert (endpoint.extra, endpoint.temperature) == (extra, temperature)


def test_a_vendor_is_a_name():
    config = {"target": "llama", "target_backend": "openai_compatible", "target_vendor": "groq"}
    endpoint = resolve(config, "target", {"GROQ_API_KEY": "g", "OPENAI_API_KEY": "o"})
    assert (endpoint.base_url, endpoint.api_key) == ("https://api.groq.com/openai/v1", SecretStr("g"))


@pytest.mark.parametrize(
    "address",
    [
        "http://r.openai.azure.com",
        "https://evil.example",
        "https://r.openai.azure.com.evil.example",
        "https://evil.cloudapp.azure.com",
        "https://openai.azure.com.evil.example/openai",
        "http://127.0.0.1:8000/v1",
    ],
)
def test_a_token_goes_to_azure_over_https_only(address: str):
    with pytest.raises(ConfigError, match="not sent there"):
        resolve({"target": "m", "azure_openai_auth_mode": "azure_cli"}, "target", {"AZURE_OPENAI_ENDPOINT": address})


async def test_a_token_is_kept_until_shortly_before_its_end_and_asked_for_once():
    now, asked = [1000.0], list[int]()

    async def fetch() -> Token:
        asked.append(1)
        await asyncio.sleep(0)
        return Token(SecretStr(f"t{len(asked)}"), now[0] + 3600)

    source = kept(fetch, lambda: now[0])
    assert {(await t).get_secret_value() for t in [asyncio.ensure_future(source()) for _ in range(20)]} == {"t1"}
    now[0] += 3400
    assert (await source()).get_secret_value() == "t2"


async def test_the_az_program_serves_where_azure_identity_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    answer = json.dumps({"accessToken": "from-az", "expires_on": 2e10})
    (tmp_path / "az").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "az").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert (await token_source(SignIn("azure_cli"))()).get_secret_value() == "from-az"
    (tmp_path / "az").write_text("#!/bin/sh\necho 'Please run az login' >&2\nexit 1\n")
    with pytest.raises(ModelError, match="az login") as caught:
        await token_source(SignIn("azure_cli"))()
    assert caught.value.kind == "auth"
    with pytest.raises(ModelError, match=r"skillopt\[azure\]"):
        await token_source(SignIn("managed_identity"))()
