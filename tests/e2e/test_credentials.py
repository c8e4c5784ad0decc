"""The documents' "Configure API Credentials", export by export, with the real command against loopback servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.testing.server import LoopbackServer
from skillopt.testing.world import write_split

ROOT = Path(__file__).parents[2]
VARIABLES = ("OPENAI", "ANTHROPIC", "QWEN", "MINIMAX")


@pytest.fixture
def servers() -> Iterator[tuple[LoopbackServer, LoopbackServer]]:
    with LoopbackServer.in_thread(seed=1) as first, LoopbackServer.in_thread(seed=1) as second:
        yield first, second


def train(tmp_path: Path, exports: dict[str, str], *arguments: str) -> dict[str, object]:
    write_split(tmp_path / "split", 16, 8, 8, seed=1)
    command = [sys.executable, "scripts/train.py", "--config", "configs/searchqa/default.yaml"]
    command += ["--split_dir", str(tmp_path / "split"), "--out_root", str(tmp_path / "run")]
    command += ["--num_epochs", "1", "--batch_size", "8", *arguments]
    environ = {k: v for k, v in os.environ.items() if not any(name in k for name in VARIABLES)}
    done = subprocess.run(command, cwd=ROOT, env=environ | exports, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for secret in (v for k, v in exports.items() if "KEY" in k):
        assert secret not in done.stdout + done.stderr
        assert not any(secret.encode() in f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file())
    return json.loads((tmp_path / "run" / "summary.json").read_text())


Servers = tuple[LoopbackServer, LoopbackServer]


def test_azure_with_a_key(tmp_path: Path, servers: Servers) -> None:
    exports = {"AZURE_OPENAI_ENDPOINT": servers[0].origin + "/", "AZURE_OPENAI_API_KEY": "azure-key-123"}
    summary = train(tmp_path, exports | {"AZURE_OPENAI_AUTH_MODE": "api_key"})
    assert summary["test_hard"] > summary["baseline_test_hard"]


def test_openai_compatible(tmp_path: Path, servers: Servers) -> None:
    exports = {"AZURE_OPENAI_ENDPOINT": servers[0].url, "AZURE_OPENAI_API_KEY": "sk-compatible-1"}
    summary = train(tmp_path, exports | {"AZURE_OPENAI_AUTH_MODE": "openai_compatible"})
    assert summary["test_hard"] > summary["baseline_test_hard"]


def test_claude(tmp_path: Path, servers: Servers) -> None:
    pytest.importorskip("anthropic", reason='claude_chat needs the extra: pip install "skillopt[claude]"')
    exports = {"ANTHROPIC_API_KEY": "sk-ant-loopback", "ANTHROPIC_BASE_URL": servers[0].origin}
    summary = train(tmp_path, exports, "--backend", "claude")
    assert summary["test_hard"] > summary["baseline_test_hard"]


def test_two_local_qwen_servers_one_for_each_role(tmp_path: Path, servers: Servers) -> None:
    target, optimizer = servers
    train(
        tmp_path, {},
        "--optimizer_backend", "qwen_chat",
        "--target_backend", "qwen_chat",
        "--optimizer_model", "Qwen/Qwen3.5-4B",
        "--target_model", "Qwen/Qwen3.5-4B",
        "--optimizer_qwen_chat_base_url", optimizer.url,
        "--target_qwen_chat_base_url", target.url,
    )  # fmt: skip
    assert set(target.stats()["roles"]) == {"target"}
    assert "target" not in optimizer.stats()["roles"] and optimizer.stats()["answered"] > 0


def test_qwen_by_its_variables(tmp_path: Path, servers: Servers) -> None:
    exports = {"QWEN_CHAT_BASE_URL": servers[0].url, "QWEN_CHAT_MODEL": "Qwen/Qwen3.5-4B"}
    train(tmp_path, exports, "--optimizer_backend", "qwen_chat", "--target_backend", "qwen_chat")
    assert servers[0].stats()["answered"] > 0


def test_minimax(tmp_path: Path, servers: Servers) -> None:
    exports = {"MINIMAX_BASE_URL": servers[0].url, "MINIMAX_API_KEY": "mm-key-9", "MINIMAX_MODEL": "MiniMax-M2.7"}
    exports |= {"AZURE_OPENAI_ENDPOINT": servers[1].url, "AZURE_OPENAI_AUTH_MODE": "openai_compatible"}
    train(tmp_path, exports | {"AZURE_OPENAI_API_KEY": "sk-optimizer"}, "--backend", "minimax")
    assert set(servers[0].stats()["roles"]) == {"target"}


def test_a_dotenv_file_fills_gaps(tmp_path: Path, servers: Servers) -> None:
    write_split(tmp_path / "split", 16, 8, 8, seed=1)
    exports = f'export AZURE_OPENAI_ENDPOINT="{servers[0].url}"\nexport AZURE_OPENAI_API_KEY="sk-x-1"\n'
    (tmp_path / ".env").write_text(exports)
    command = [sys.executable, "-m", "skillopt.cli", "train", "--config", str(ROOT / "configs/searchqa/default.yaml")]
    command += ["--split_dir", "split", "--out_root", "run", "--num_epochs", "1", "--batch_size", "8"]
    command += ["--skill_init", str(ROOT / "skillopt/envs/searchqa/skills/initial.md")]
    environ = {k: v for k, v in os.environ.items() if not any(name in k for name in VARIABLES)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "sk-x-1" not in done.stdout + done.stderr
