from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import skillopt.cli as entry
from skillopt.cli import cli
from skillopt.cli.flags import EVERYDAY, expand_cfg_options

SEEN = """
import sys
import skillopt.cli
print([m for m in ("pydantic", "rich", "aiohttp", "jinja2", "yaml") if m in sys.modules])
"""


def run(*args: str):
    return CliRunner().invoke(cli, list(args))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            ["--cfg-options", "a=1", "b=2", "--seed", "3"],
            ["--cfg-options", "a=1", "--cfg-options", "b=2", "--seed", "3"],
        ),
        (["--cfg_options", "a=-1", "-v"], ["--cfg-options", "a=-1", "-v"]),
        (["--cfg-options=a=1", "x"], ["--cfg-options=a=1", "x"]),
        (["--cfg-options", "a=1", "stray"], ["--cfg-options", "a=1", "stray"]),
        (["--cfg-options", "a=1", "--cfg-options", "b="], ["--cfg-options", "a=1", "--cfg-options", "b="]),
        ([], []),
    ],
)
def test_cfg_options_take_several_values(given: list[str], expected: list[str]) -> None:
    assert expand_cfg_options(given) == expected


def test_cfg_options_without_a_value_do_not_swallow_the_next_flag() -> None:
    result = run("train", "--config", "x.yaml", "--cfg-options", "--seed", "3")
    assert result.exit_code == 2 and "at least one KEY=VALUE" in result.output


def test_help_shows_the_everyday_flags_and_points_to_the_rest() -> None:
    text = run("train", "--help").output
    assert all(f"--{name}" in text for name in (*EVERYDAY, "config", "cfg-options", "fresh"))
    assert "--help-all" in text and "--qwen_chat_base_url" not in text


def test_help_all_shows_every_flag_that_has_an_effect() -> None:
    from skillopt.config.legacy import FLAGS

    result = run("train", "--help-all")
    assert result.exit_code == 0
    assert all(f"--{flag.name} " in result.output for flag in FLAGS if "train" in flag.commands and not flag.hidden)
    assert "--max_analyst_rounds" not in result.output


def test_eval_has_its_own_flags() -> None:
    text = run("eval", "--help-all").output
    assert "--skill" in text and "--split " in text and "--num_epochs" not in text


def test_an_unknown_flag_gets_a_guess() -> None:
    result = run("train", "--config", "x", "--optimiser_model", "m")
    assert result.exit_code == 2 and "--optimizer_model" in result.output


@pytest.mark.parametrize(("word", "said"), [("onn", "neither true nor false"), ("", "neither true nor false")])
def test_a_boolean_flag_refuses_other_words(word: str, said: str) -> None:
    result = run("train", "--config", "x", "--use_gate", word)
    assert result.exit_code == 2 and said in result.output


def test_a_misspelt_split_is_refused_with_a_guess() -> None:
    result = run("eval", "--config", "x", "--skill", "s", "--split", "tset")
    assert result.exit_code == 2 and "Did you mean 'test'?" in result.output


def test_the_command_line_is_light() -> None:
    done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_are_listed() -> None:
    assert "searchqa" in run("list").output.splitlines()[0]


def exits(monkeypatch: pytest.MonkeyPatch, function, *args: str) -> int:
    with pytest.raises(SystemExit) as caught:
        function(list(args))
    return int(caught.value.code or 0)


def test_an_error_for_a_person_is_one_message_and_its_code(monkeypatch, capsys, tmp_path: Path) -> None:
    code = exits(monkeypatch, entry.train_main, "--config", str(tmp_path / "none.yaml"))
    err = capsys.readouterr().err
    assert code == 2 and err.startswith("skillopt: ") and "none.yaml" in err and "Traceback" not in err


def test_a_bad_cfg_option_is_explained(monkeypatch, capsys) -> None:
    code = exits(monkeypatch, entry.train_main, "--config", "x.yaml", "--cfg-options", "oops")
    assert code == 2 and "key=value" in capsys.readouterr().err


def test_an_interrupt_says_how_to_go_on(monkeypatch, capsys) -> None:
    from skillopt import app

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "load", interrupted)
    assert exits(monkeypatch, entry.main, "train", "--config", "x.yaml") == 130
    assert "same command" in capsys.readouterr().err


def test_flags_and_options_reach_the_loader_with_flags_last(monkeypatch) -> None:
    from skillopt import app
    from skillopt.errors import ConfigError

    seen = []

    def load(path, overrides):
        seen.extend((o.path, o.value, o.source) for o in overrides)
        raise ConfigError("enough")

    monkeypatch.setattr(app, "load", load)
    args = ("--config", "x", "--seed", "3", "--cfg-options", "train.seed=1", "a.b=c=d", "--use_gate", "No")
    assert exits(monkeypatch, entry.train_main, *args) == 2
    assert seen[:2] == [("train.seed", "1", "--cfg-options"), ("a.b", "c=d", "--cfg-options")]
    assert sorted(seen[2:]) == [("evaluation.use_gate", False, "--use_gate"), ("train.seed", 3, "--seed")]


def test_an_empty_outputs_folder_is_no_error(tmp_path: Path) -> None:
    result = run("runs", "list", str(tmp_path))
    assert result.exit_code == 0 and "no run below" in result.output
