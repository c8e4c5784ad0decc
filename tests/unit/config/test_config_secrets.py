"""A credential goes to the backend and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from skillopt.config import KEYS, Loaded, explain, load_config, overrides_from, parse_cfg_options
from skillopt.config.words import names_secret

VALUE = "sk-do-not-show"


class Options(BaseModel):
    judge: SecretStr | None = None
    judge_api_key: str = ""
    max_tokens: int = 5


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    path = tmp_path / "x.yaml"
    keys = "\n".join(f"  {k.partition('.')[2]}: {VALUE}" for k, key in KEYS.items() if key.secret)
    path.write_text(f"model:\n{keys}\nenv: {{name: toy, judge: {VALUE}, judge_api_key: {VALUE}}}\n")
    return load_config(path, benchmark_options=lambda _: Options)


def test_credentials_reach_the_configuration(loaded: Loaded) -> None:
    key = loaded.config.model.optimizer_azure_openai_api_key
    assert key is not None
    assert key.get_secret_value() == VALUE
    assert loaded.config.env.options["judge_api_key"] == VALUE


def test_credentials_appear_in_no_view(loaded: Loaded) -> None:
    config = loaded.config
    views = [repr(config), str(config), repr(loaded), json.dumps(config.public()), json.dumps(config.flat())]
    views += [repr(explain(loaded)), repr(config.model), repr(config.env), str(config.env)]
    assert [v for v in views if VALUE in v] == []


def test_credential_keys_are_left_out_entirely(loaded: Loaded) -> None:
    public, flat = loaded.config.public(), loaded.config.flat()
    assert not [k for k in public["model"] if k.endswith("api_key")]
    assert not [k for k in flat if k.endswith("api_key") or k == "judge"]
    assert "max_tokens" in public["env"]


def test_explain_tells_only_whether_a_credential_is_set(loaded: Loaded) -> None:
    rows = {row.key: row for row in explain(loaded)}
    assert rows["model.azure_openai_api_key"].value == "(set)"
    assert rows["env.judge"].value == rows["env.judge_api_key"].value == "(set)"
    unset = {r.key: r for r in explain(load_config(_named(loaded)))}
    assert unset["model.azure_openai_api_key"].value == "(not set)"


def _named(loaded: Loaded) -> Path:
    path = Path(loaded.provenance["env.name"].source.rpartition(":")[0]).with_name("y.yaml")
    path.write_text("env: {name: toy}")
    return path


def test_every_key_explains_itself(loaded: Loaded) -> None:
    assert [row.key for row in explain(loaded) if not row.help or not row.source] == []
    assert {row.key for row in explain(loaded)} >= set(KEYS)


@pytest.mark.parametrize(
    ("flag", "variable"),
    [
        ("azure_api_key", "AZURE_OPENAI_API_KEY"),
        ("optimizer_azure_openai_api_key", "OPTIMIZER_AZURE_OPENAI_API_KEY"),
        ("target_qwen_chat_api_key", "TARGET_QWEN_CHAT_API_KEY"),
        ("minimax_api_key", "MINIMAX_API_KEY"),
    ],
)
def test_a_credential_on_the_command_line_is_warned_about(loaded: Loaded, flag: str, variable: str) -> None:
    (warning,) = load_config(_named(loaded), overrides_from({flag: VALUE})).warnings
    assert warning.startswith(f"--{flag}: ")
    assert f"set {variable} in the environment" in warning
    assert VALUE not in warning


def test_a_credential_among_cfg_options_is_warned_about(loaded: Loaded) -> None:
    overrides = parse_cfg_options(
        [f"model.minimax_api_key={VALUE}", f"env.hub_token={VALUE}", "model.qwen_chat_api_key="]
    )
    assert VALUE not in repr(overrides)
    warnings = load_config(_named(loaded), overrides).warnings
    assert len(warnings) == 2
    assert VALUE not in "".join(warnings)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("api_key", True),
        ("judge_api_key", True),
        ("hub-token", True),
        ("client_secret", True),
        ("db_password", True),
        ("max_tokens", False),
        ("max_completion_tokens", False),
        ("tokenizer", False),
        ("keyword", False),
    ],
)
def test_names_of_credentials(name: str, secret: bool) -> None:
    assert names_secret(name) is secret
