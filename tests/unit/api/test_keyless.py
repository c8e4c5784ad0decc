"""Where nobody named a model and no key is set, a run on one's own examples stays on this machine, and says so."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

import skillopt
from skillopt import app
from skillopt.config.load import Loaded, Override
from skillopt.errors import ConfigError
from skillopt.keyless import SOURCE, settled
from skillopt.model import local_server
from skillopt.quoting import quote_training
from skillopt.testing.tickets import write_examples
from skillopt.types import JSON

ROWS = [(f"{word} {n}", word) for word in ("red", "green", "blue") for n in range(10)]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in os.environ:
        if name.endswith(("_API_KEY", "_BASE_URL", "_ENDPOINT", "_VENDOR")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    write_examples(tmp_path, 40)


def home(environ: Mapping[str, str] | None = None, **more: JSON) -> Loaded:
    given = {"env.name": "own", "env.data_path": "examples.csv", **{k.replace("__", "."): v for k, v in more.items()}}
    overrides = tuple(Override(key, value, "test") for key, value in given.items())
    return settled(app.load(None, overrides), environ or {}, lambda rest: app.load(None, (*overrides, *rest)))


def roles(loaded: Loaded) -> tuple[str, str, str, str]:
    model = loaded.config.model
    return model.target_backend, model.target, model.optimizer_backend, model.optimizer


def test_a_small_model_and_the_miner_and_one_line_about_it() -> None:
    loaded = home()
    assert roles(loaded) == ("local", "smollm2-135m", "miner", "miner")
    (line,) = loaded.warnings
    assert "\n" not in line and SOURCE in line and "98 MB" in line
    assert "--target_model" in line and "OPENAI_API_KEY" in line
    config = loaded.config
    assert not config.optimizer.use_slow_update and not config.optimizer.use_meta_skill
    assert 24 <= config.env.options["max_completion_tokens"] < 100
    assert loaded.provenance["model.target"].source == SOURCE


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"model__target": "qwen2.5-coder-0.5b"}, ("local", "qwen2.5-coder-0.5b", "miner", "miner")),
        ({"model__local_model": "qwen2.5-coder-0.5b"}, ("local", "qwen2.5-coder-0.5b", "miner", "miner")),
        ({"model__optimizer": "qwen2.5-coder-1.5b"}, ("local", "smollm2-135m", "local", "qwen2.5-coder-1.5b")),
        ({"model__target_backend": "local"}, ("local", "gpt-5.5", "miner", "miner")),
        ({"model__target": "function:mine.agent"}, ("openai_chat", "function:mine.agent", "miner", "miner")),
    ],
)
def test_what_was_said_is_kept(settings: dict[str, JSON], wanted: tuple[str, ...]) -> None:
    assert roles(home(**settings)) == wanted


@pytest.mark.parametrize(
    ("environ", "settings"),
    [
        ({"OPENAI_API_KEY": "x"}, {}),
        ({"TARGET_AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}, {}),
        ({"OPENAI_BASE_URL": "not a url"}, {}),
        ({"ANTHROPIC_API_KEY": "x"}, {}),
        ({}, {"model__target": "gpt-5-mini"}),
        ({}, {"model__optimizer_backend": "claude_chat"}),
        ({}, {"model__azure_openai_endpoint": "http://localhost:1"}),
        ({}, {"model__vendor": "ollama"}),
    ],
)
def test_nobody_who_chose_is_redirected(environ: dict[str, str], settings: dict[str, JSON]) -> None:
    loaded = home(environ, **settings)
    assert loaded.config.model.target_backend != "local"
    assert not any(SOURCE in line for line in loaded.warnings)


def test_a_key_of_another_vendor_is_pointed_at() -> None:
    assert home({"ANTHROPIC_API_KEY": "x"}).warnings == (
        "ANTHROPIC_API_KEY is set: choose it with --backend claude_chat",
    )
    assert "model.vendor=groq" in home({"GROQ_API_KEY": "x"}).warnings[0]


def test_a_missing_runtime_names_the_command_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install "skillopt\[local\]".*OPENAI_API_KEY'):
        quote_training(home(), {})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"env__scorer": "judge", "env__rubric": "polite"}, "env.scorer: judge grades with the optimizer's model"),
        ({"optimizer__lr_control_mode": "autonomous"}, "use fixed or none"),
        ({"optimizer__skill_update_mode": "rewrite_from_suggestions"}, "use patch"),
    ],
)
def test_what_the_miner_cannot_do_is_refused_before_the_run(settings: dict[str, JSON], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        quote_training(home(**settings), {})


def test_an_agent_is_trained_by_the_miner_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def agent(skill: str, text: str) -> str:
        return text.split()[0] if "Worked examples" in skill else "?"

    with caplog.at_level(logging.WARNING):
        result = skillopt.train(skill="# x\n", data=ROWS, target=agent, epochs=1)
    assert result.after is not None and result.after.value == 1.0
    assert any("the miner writes the edits" in record.message for record in caplog.records)
    caplog.clear()
    assert skillopt.evaluate(skill="# x\n\n## Worked examples\n", data=ROWS, target=agent).score.value == 1.0
    assert not caplog.records


def test_python_reads_the_env_file_as_the_commands_do(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=nonsense\n")
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL: the endpoint must be a URL"):
        skillopt.train(skill="# x\n", data=ROWS, epochs=1)
