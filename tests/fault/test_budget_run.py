"""A run that meets its cap stops cleanly and goes on with a higher one; every backend carries a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.errors import BudgetExhausted
from skillopt.testing.server import Faults, LoopbackServer
from skillopt.testing.trial import Trial, outcome_of

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
QUICK = {"train.num_epochs": 1, "train.batch_size": 20, "env.exec_timeout": 5.0, "model.timeout_seconds": 5.0}
SIZES = (40, 20, 20)


@pytest.mark.parametrize(
    "caps",
    [
        {"budget.max_calls": 65},
        {"budget.max_tokens": 60_000},
        {"budget.max_cost_usd": 0.06, "budget.price_per_million_tokens": "1:1"},
    ],
)
def test_a_run_stops_at_its_cap_and_continues_with_a_higher_one(tmp_path: Path, caps: dict[str, object]) -> None:
    with LoopbackServer.in_thread(seed=2, faults=Faults(rate_429=0.05, retry_after=0.01, rate_500=0.02)) as server:
        trial = Trial(tmp_path, server.url, CONFIG, QUICK).write_items(*SIZES)
        trial.train("whole")
        server.reset()
        capped = Trial(tmp_path, server.url, CONFIG, QUICK | caps)
        with pytest.raises(BudgetExhausted, match="same command"):
            capped.train("capped")
        spent = server.stats()["requests"]
        assert 0 < spent <= caps.get("budget.max_calls", 10**9)
        with pytest.raises(BudgetExhausted):
            capped.train("capped")
        assert server.stats()["requests"] <= caps.get("budget.max_calls", 10**9), "the cap holds over both sessions"
        outcome = Trial(tmp_path, server.url, CONFIG, QUICK).train("capped")
    assert outcome.resumed
    one, other = outcome_of(tmp_path / "capped"), outcome_of(tmp_path / "whole")
    assert one["best"] == other["best"]
    assert [s["action"] for s in one["history"]] == [s["action"] for s in other["history"]]


def test_two_local_qwen_servers_carry_a_run_each_its_own_role(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(seed=2) as optimizer, LoopbackServer.in_thread(seed=2) as target:
        settings = QUICK | {
            "model.optimizer_backend": "qwen_chat",
            "model.target_backend": "qwen_chat",
            "model.optimizer": "Qwen/Qwen3.5-4B",
            "model.target": "Qwen/Qwen3.5-4B",
            "model.optimizer_qwen_chat_base_url": optimizer.url,
            "model.target_qwen_chat_base_url": target.url,
            "model.qwen_chat_thinking_mode": "disabled",
        }
        Trial(tmp_path, "", CONFIG, settings).write_items(*SIZES).train("qwen")
        roles = set(optimizer.stats()["roles"]), set(target.stats()["roles"])
    assert roles[0] and roles[1] and not roles[0] & roles[1]


@pytest.mark.parametrize(
    ("settings", "environ"),
    [
        ({"model.backend": "claude_chat"}, {"ANTHROPIC_BASE_URL": "{origin}", "ANTHROPIC_API_KEY": "sk-ant-x"}),
        (
            {"model.backend": "openai_compatible", "model.api": "responses"},
            {"OPENAI_COMPATIBLE_BASE_URL": "{origin}/v1"},
        ),
        (
            {"model.optimizer_backend": "minimax_chat", "model.target_backend": "minimax_chat"},
            {"MINIMAX_BASE_URL": "{origin}/v1", "MINIMAX_API_KEY": "k"},
        ),
        (
            {"model.azure_openai_auth_mode": "api_key"},
            {"AZURE_OPENAI_ENDPOINT": "{origin}", "AZURE_OPENAI_API_KEY": "k"},
        ),
    ],
)
def test_the_same_run_over_every_backend(tmp_path: Path, settings: dict[str, str], environ: dict[str, str]) -> None:
    with LoopbackServer.in_thread(seed=2) as server:
        Trial(tmp_path, server.url, CONFIG, QUICK).write_items(*SIZES).train("plain")
        filled = {name: value.format(origin=server.origin) for name, value in environ.items()}
        given = {"model.azure_openai_endpoint": "", **QUICK, **settings}
        Trial(tmp_path, "", CONFIG, given, filled).train("other")
    assert outcome_of(tmp_path / "other")["best"] == outcome_of(tmp_path / "plain")["best"]
    written = b"".join(path.read_bytes() for path in (tmp_path / "other").rglob("*") if path.is_file())
    assert b"sk-ant-x" not in written
