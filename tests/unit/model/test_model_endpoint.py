from __future__ import annotations

import pytest
from pydantic import SecretStr

from skillopt.errors import ConfigError
from skillopt.model.resolve import resolve

KEY = "sk-very-secret-key-123456"
BASE = {"optimizer": "big", "target": "small", "azure_openai_api_version": "2024-12-01-preview"}
ENDPOINT = "azure_openai_endpoint"


def test_precedence_of_the_endpoint_step_by_step():
    config = {
        f"optimizer_{ENDPOINT}": "http://role-config/v1",
        ENDPOINT: "http://config/v1",
    }
    environ = {
        "OPTIMIZER_AZURE_OPENAI_ENDPOINT": "http://role-env/v1",
        "AZURE_OPENAI_OPTIMIZER_ENDPOINT": "http://other-role-env/v1",
        "AZURE_OPENAI_ENDPOINT": "http://env/v1",
        "OPTIMIZER_OPENAI_COMPATIBLE_BASE_URL": "http://role-compatible/v1",
        "OPENAI_COMPATIBLE_BASE_URL": "http://compatible/v1",
        "OPENAI_BASE_URL": "http://openai/v1",
    }
    expected = [*config.values(), *environ.values()]
    found: list[str] = []
    while config or environ:
        found.append(resolve({**BASE, **config}, "optimizer", environ).base_url)
        layer = config or environ
        del layer[next(iter(layer))]
    assert found == expected


def test_a_role_never_takes_the_other_roles_values():
    config = {**BASE, f"optimizer_{ENDPOINT}": "http://one/v1", ENDPOINT: "http://both/v1"}
    environ = {"OPTIMIZER_AZURE_OPENAI_API_KEY": KEY}
    optimizer, target = resolve(config, "optimizer", environ), resolve(config, "target", environ)
    assert (optimizer.base_url, optimizer.model, optimizer.auth) == ("http://one/v1", "big", "bearer")
    assert (target.base_url, target.model, target.auth) == ("http://both/v1", "small", "none")


@pytest.mark.parametrize(
    ("address", "mode", "key", "auth", "url"),
    [
        ("http://127.0.0.1:8000", "", "", "none", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://127.0.0.1:8000/", "openai", "", "none", "http://127.0.0.1:8000/v1/chat/completions"),
        ("https://api.x.ai/v1/", "", KEY, "bearer", "https://api.x.ai/v1/chat/completions"),
        ("https://api.x.ai/v1/chat/completions", "compat", KEY, "bearer", "https://api.x.ai/v1/chat/completions"),
        (
            "https://r.openai.azure.com/openai/v1",
            "",
            KEY,
            "bearer",
            "https://r.openai.azure.com/openai/v1/chat/completions",
        ),
        (
            "https://r.openai.azure.com/",
            "",
            KEY,
            "azure_key",
            "https://r.openai.azure.com/openai/deployments/big/chat/completions?api-version=2024-12-01-preview",
        ),
        (
            "https://r.cognitiveservices.azure.com/openai/deployments/x/chat/completions?api-version=1",
            "api_key",
            KEY,
            "azure_key",
            "https://r.cognitiveservices.azure.com/openai/deployments/big/chat/completions?api-version=2024-12-01-preview",
        ),
        (
            "http://gateway.local/llm",
            "key",
            KEY,
            "azure_key",
            "http://gateway.local/llm/openai/deployments/big/chat/completions?api-version=2024-12-01-preview",
        ),
    ],
)
def test_modes_and_routes(address: str, mode: str, key: str, auth: str, url: str):
    secret = SecretStr(key) if key else None
    config = {**BASE, ENDPOINT: address, "azure_openai_auth_mode": mode, "azure_openai_api_key": secret}
    endpoint = resolve(config, "optimizer", {})
    assert (endpoint.auth, endpoint.url) == (auth, url)
    assert KEY not in repr(endpoint) and KEY not in endpoint.identity and KEY not in str(endpoint.notes)


@pytest.mark.parametrize(
    ("config", "environ", "words"),
    [
        ({}, {}, ["AZURE_OPENAI_ENDPOINT", "OPENAI_BASE_URL", "--azure_openai_endpoint", "optimizer"]),
        (
            {ENDPOINT: "https://r.openai.azure.com", "azure_openai_auth_mode": "api_key"},
            {},
            ["AZURE_OPENAI_API_KEY", "az login"],
        ),
        ({ENDPOINT: "localhost:8000"}, {}, ["http://"]),
        ({ENDPOINT: "http://[broken"}, {}, ["http://"]),
        ({ENDPOINT: f"http://me:{KEY}@host/v1"}, {}, ["user name or password"]),
        ({ENDPOINT: "http://h/v1", "azure_openai_auth_mode": "azure_cli"}, {}, ["https", "openai.azure.com"]),
        ({ENDPOINT: "http://h/v1"}, {"AZURE_OPENAI_AUTH_MODE": "magic"}, ["AZURE_OPENAI_AUTH_MODE", "magic"]),
        ({ENDPOINT: "http://h/v1", "azure_openai_api_key": f"{KEY}\nX: y"}, {}, ["azure_openai_api_key"]),
        ({"optimizer_backend": "claude_chat"}, {}, ["claude_chat", "ANTHROPIC_API_KEY"]),
        ({"optimizer_backend": "cursor_exec"}, {}, ["cursor_exec", "openai_chat", "claude_chat", "qwen_chat"]),
        ({"optimizer_backend": "cursor_exec"}, {}, ["cursor_exec", "openai_compatible", "minimax_chat"]),
        ({"optimizer_backend": "minimax_chat"}, {}, ["MINIMAX_API_KEY"]),
        ({"optimizer_backend": "minimax_chat"}, {"MINIMAX_REGION": "mars", "MINIMAX_API_KEY": "k"}, ["mars", "cn_zh"]),
        ({"optimizer_backend": "openai_compatible"}, {}, ["OPENAI_COMPATIBLE_BASE_URL", "model.vendor", "groq"]),
        ({"optimizer_backend": "openai_compatible", "vendor": "acme"}, {}, ["acme", "model.vendor", "deepseek"]),
        ({"optimizer_backend": "openai_compatible", "vendor": "groq"}, {"OPENAI_API_KEY": "k"}, ["GROQ_API_KEY"]),
        ({"optimizer_backend": "qwen_chat"}, {"QWEN_CHAT_THINKING_MODE": "perhaps"}, ["perhaps", "server_default"]),
        (
            {"optimizer_backend": "qwen_chat", "qwen_chat_enable_thinking": True},
            {"QWEN_CHAT_THINKING_MODE": "disabled"},
            ["QWEN_CHAT_THINKING_MODE", "model.qwen_chat_enable_thinking"],
        ),
        ({"optimizer_backend": "qwen_chat"}, {"QWEN_CHAT_TEMPERATURE": "warm"}, ["QWEN_CHAT_TEMPERATURE", "warm"]),
        ({"optimizer": "", ENDPOINT: "http://h/v1"}, {}, ["model.optimizer", "--optimizer_model"]),
    ],
)
def test_what_is_wrong_is_said_without_the_key(config: dict[str, str], environ: dict[str, str], words: list[str]):
    with pytest.raises(ConfigError) as caught:
        resolve({**BASE, **config}, "optimizer", environ)
    assert all(word in str(caught.value) for word in words)
    assert KEY not in str(caught.value)


def test_an_openai_key_alone_means_api_openai_com_and_is_noted():
    endpoint = resolve(BASE, "target", {"OPENAI_API_KEY": KEY})
    assert endpoint.url == "https://api.openai.com/v1/chat/completions"
    assert endpoint.auth == "bearer"
    assert any("OPENAI_API_KEY" in note for note in endpoint.notes)


def test_the_generic_backend_has_its_own_variables_and_never_sends_an_azure_key():
    config = {"target_backend": "openai-compatible"}
    environ = {
        "OPENAI_COMPATIBLE_BASE_URL": "http://shared/v1",
        "TARGET_OPENAI_COMPATIBLE_BASE_URL": "http://mine",
        "OPENAI_COMPATIBLE_MODEL": "qwen",
        "AZURE_OPENAI_API_KEY": KEY,
    }
    endpoint = resolve(config, "target", environ)
    assert (endpoint.base_url, endpoint.model, endpoint.auth) == ("http://mine/v1", "qwen", "none")


@pytest.mark.parametrize(
    ("config", "environ", "takes"),
    [
        ({}, {"OPENAI_API_KEY": "k"}, True),
        ({}, {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "AZURE_OPENAI_API_KEY": "k"}, True),
        ({}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, False),
        ({"target_backend": "openai_compatible", "vendor": "vllm"}, {}, True),
        ({"target_backend": "openai_compatible", "vendor": "deepseek"}, {"DEEPSEEK_API_KEY": "k"}, False),
    ],
)
def test_a_schema_is_sent_only_where_it_is_known_to_be_taken(config, environ, takes):
    assert resolve({"target": "m", **config}, "target", environ).takes_schema is takes
