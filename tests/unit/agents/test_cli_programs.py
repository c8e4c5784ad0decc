"""What is particular about each agent program: its settings, its command line, its events, where it is found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillopt.agents.cli.base import Cli, Order
from skillopt.agents.cli.box import box
from skillopt.agents.cli.build import CLIS, target_agent
from skillopt.agents.cli.claude import ClaudeCode
from skillopt.agents.cli.codex import Codex
from skillopt.agents.cli.copilot import Copilot
from skillopt.agents.cli.found import find, installed
from skillopt.agents.cli.story import Story
from skillopt.brought import NOTHING, gateways
from skillopt.config.schema import Config
from skillopt.errors import ConfigError
from skillopt.model.budget import Budget
from skillopt.model.programs import claude_code, codex
from skillopt.model.settings import Settings
from skillopt.types import JSON

KEY = "sk-the-real-key-of-the-model"


def heard(cli: Cli, *rows: Mapping[str, JSON]) -> Story:
    story = Story()
    for row in rows:
        cli.hear(row, story)
    return story


def test_events_of_codex() -> None:
    run = {"type": "command_execution", "command": "ls", "aggregated_output": "a.txt\n", "exit_code": 0}
    edit = {"type": "file_change", "changes": [{"path": "a.txt", "kind": "update"}]}
    rows = [{"type": "item.completed", "item": item} for item in (run, edit, {"type": "agent_message", "text": "hi"})]
    story = heard(Codex(), {"type": "item.started", "item": run}, *rows)
    assert [(t.role, t.text) for t in story.turns] == [
        ("action", "ls"), ("tool", "a.txt\n\n[exit code 0]"), ("action", "edit a.txt (update)"), ("assistant", "hi"),
    ]  # fmt: skip
    # A note about the model's metadata is an item of type error, and no failure.
    noted = heard(Codex(), {"type": "item.completed", "item": {"type": "error", "message": "unknown model"}})
    assert noted.error == ""
    assert heard(Codex(), {"type": "turn.failed", "error": {"message": "529"}}).error == "529"


def test_events_of_claude_code() -> None:
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    look = {"type": "tool_use", "name": "Read", "input": {"file_path": "a.png"}}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}
    story = heard(
        ClaudeCode(),
        {"type": "assistant", "message": {"content": [use, look]}},
        {"type": "user", "message": {"content": [result]}},
        {"type": "user", "message": {"content": "plain"}},
        {"type": "result", "is_error": False, "result": "hi", "total_cost_usd": 0.5},
    )
    assert [t.text for t in story.turns] == ["ls", 'Read {"file_path":"a.png"}', "a\n[image]"]
    assert (story.answer, story.cost_usd, story.error) == ("hi", 0.5, "")
    assert heard(ClaudeCode(), {"type": "result", "is_error": True, "result": "API Error: 529"}).error


def test_events_of_copilot() -> None:
    story = heard(
        Copilot(),
        {"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "ls"}}},
        {"type": "tool.execution_complete", "data": {"result": {"content": "a.txt"}}},
        {"type": "assistant.message", "data": {"content": "hi"}},
    )
    assert [(t.role, t.text) for t in story.turns] == [("action", "ls"), ("tool", "a.txt"), ("assistant", "hi")]
    assert heard(Copilot(), {"type": "session.error", "data": {"message": "no"}}).error == "no"


@pytest.mark.parametrize("cli", [Codex(), ClaudeCode(), Copilot()])
def test_no_prompt_and_no_key_is_on_a_command_line(cli: Cli) -> None:
    order = Order("the prompt itself", "m", "/workspace", "/home/agent", "http://127.0.0.1:7777")
    words = (*cli.command("program", order), *cli.environment(order).values())
    assert not [word for word in words if "the prompt" in word or KEY in word]
    assert b"the prompt itself" in cli.stdin(order)


def test_settings_of_codex_from_keys_and_variables() -> None:
    environ = {"CODEX_EXEC_SANDBOX": "read-only", "CODEX_PATH": "/opt/codex", "CODEX_API_KEY": KEY}
    made = Codex.of(Settings({"codex_exec_network_access": True, "target": "gpt-5.4"}, "target", environ))
    assert (made.path, made.sandbox, made.network, made.web_search) == ("/opt/codex", "read-only", True, False)
    endpoint = codex(Settings({"target": "gpt-5.4"}, "target", environ))
    assert endpoint.api_key is not None and endpoint.api_key.get_secret_value() == KEY
    with pytest.raises(ConfigError, match="profile"):
        Codex.of(Settings({"codex_exec_profile": "mine"}, "target", {}))


def test_a_token_in_place_of_a_key_goes_out_in_its_own_header() -> None:
    settings = Settings(
        {"target": "anthropic/claude-sonnet-4-6"}, "target", {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"}
    )
    cli, endpoint = ClaudeCode.of(settings), claude_code(settings)
    assert cli.key_header(endpoint) == "Authorization"
    assert endpoint.model == "claude-sonnet-4-6"
    order = Order("", "m", "/w", "/h", "http://127.0.0.1:7777")
    assert "CLAUDE_CODE_OAUTH_TOKEN" in cli.environment(order) and "ANTHROPIC_API_KEY" not in cli.environment(order)
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        claude_code(Settings({"target": "m"}, "target", {}))


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_program_is_found_by_name_by_file_and_not_at_all(tmp_path: Path) -> None:
    made = program(tmp_path / "bin" / "copilot", "echo Copilot 1.2.3-beta.")
    environ = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    assert find(Copilot, "", environ).version == "1.2.3-beta"
    assert find(Copilot, str(made), {"PATH": ""}).path == made
    with pytest.raises(ConfigError, match="npm install -g @github/copilot"):
        find(Copilot, "", {"PATH": ""})
    with pytest.raises(ConfigError, match="no version"):
        find(Copilot, str(program(tmp_path / "broken", "exit 1")), environ)


def test_what_a_program_needs_is_shown_and_its_neighbours_are_not(tmp_path: Path) -> None:
    js = program(tmp_path / "node_modules" / "@github" / "copilot" / "loader.js", "echo 1.0")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "copilot").symlink_to(js)
    found = find(Copilot, "", {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert found.shown[0] == tmp_path / "node_modules"
    alone = find(Copilot, str(program(tmp_path / "home" / "copilot", "echo 1.0")), {"PATH": os.environ["PATH"]})
    assert tmp_path / "home" / "copilot" in alone.shown and tmp_path / "home" not in alone.shown


def usable() -> bool:
    try:
        return bool(box()) and installed(CLIS["codex_exec"], os.environ) is not None
    except ConfigError:
        return False


@pytest.mark.skipif(not usable(), reason="needs codex and bubblewrap")
def test_both_roles_can_be_a_program() -> None:
    model = {
        "optimizer_backend": "codex_exec",
        "target_backend": "codex_exec",
        "target": "gpt-5.4",
        "optimizer": "gpt-5.4",
    }
    config = Config.model_validate({"model": model})
    environ = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY}
    made = gateways(config, environ, NOTHING)
    assert made.optimizer.identity.startswith("codex_exec ")
    agent = target_agent(config, environ, made.budget)
    assert agent is not None and agent.budget is made.budget
    assert agent.described["box"] == "bubblewrap" and agent.described["version"] in agent.identity
    assert KEY not in repr(agent)


def test_a_model_is_no_program() -> None:
    assert target_agent(Config(), {}, Budget()) is None


@pytest.mark.skipif(not usable(), reason="needs codex and bubblewrap")
def test_a_network_cannot_be_had_in_a_box() -> None:
    config = Config.model_validate({"model": {"target_backend": "codex_exec", "codex_exec_network_access": True}})
    with pytest.raises(ConfigError, match="codex_exec_network_access"):
        target_agent(config, {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY}, Budget())


def test_a_price_that_nobody_knows_cannot_be_capped() -> None:
    model = {"target_backend": "codex_exec", "target": "my-own", "optimizer": "gpt-5.4"}
    config = Config.model_validate({"model": model, "budget": {"max_cost_usd": 1.0}})
    with pytest.raises(ConfigError, match="target_price_per_million_tokens"):
        gateways(config, {"OPENAI_API_KEY": KEY}, NOTHING)
