"""The form is the schema, its messages are the command line's, and nothing secret reaches a command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillopt.config.keys import KEYS
from skillopt.errors import ConfigError, DataError
from skillopt.testing.world import write_split
from skillopt_webui import processes
from skillopt_webui.forms import EVERYDAY, form_for
from skillopt_webui.launching import Launcher, Wish, caps_in, key_in

KEY = "sk-secret-4711"
ENVIRON = {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_AUTH_MODE": "openai_compatible",
           "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9/v1"}  # fmt: skip
CONFIG = "configs/searchqa/mine.yaml"


@pytest.fixture
def launcher(tmp_path: Path) -> Launcher:
    write_split(tmp_path / "split", 12, 6, 6, seed=1)
    home = tmp_path / "configs" / "searchqa"
    home.mkdir(parents=True)
    (home / "mine.yaml").write_text(f"env:\n  name: searchqa\n  split_mode: split_dir\n  split_dir: {tmp_path}/split\n")
    return Launcher(tmp_path, tmp_path / "outputs")


def test_every_setting_has_a_field_and_no_credential_has() -> None:
    form = form_for(None)
    fields = {f.key: f for f in (*form.everyday, *(f for s in form.sections for f in s.fields))}
    hidden = {k for k, key in KEYS.items() if key.secret} | {"env.out_root", "env.name"}
    assert set(fields) == set(KEYS) - hidden
    assert [f.key for f in form.everyday] == list(EVERYDAY)
    assert fields["optimizer.lr_scheduler"].choices[:3] == ("constant", "linear", "cosine")
    assert fields["train.num_epochs"].help == "Epochs: passes over the training items"
    assert fields["optimizer.learning_rate"].help.startswith("Learning rate") and fields["train.seed"].kind == "whole"


def test_problems_are_those_of_the_command_line(launcher: Launcher) -> None:
    wish = Wish(CONFIG, changes={"train.batch_size": "0", "optimizer.lr_scheduler": "cosin"})
    found = launcher.check(wish, ENVIRON)
    assert [key_in(p) for p in found.problems] == ["train.batch_size", "optimizer.lr_scheduler"]
    assert "must be at least 1, got 0" in found.problems[0] and "did you mean" in found.problems[1].lower()


def test_a_good_form_has_a_quote_and_costs_nothing(launcher: Launcher) -> None:
    found = launcher.check(Wish(CONFIG, changes={"train.num_epochs": "1"}), ENVIRON)
    assert not found.problems and found.quote is not None
    assert "calls" in str(found.to_dict()["quote"]) and not (launcher.runs / "searchqa").exists()


def test_the_command_is_the_ordinary_one(launcher: Launcher) -> None:
    wish = Wish(CONFIG, changes={"train.num_epochs": "1", "budget.max_cost_usd": ""})
    directory, arguments = launcher.command(wish, launcher.load(wish, ENVIRON))
    assert arguments[:2] == ["train", "--plain"] and arguments[-2:] == ["--out_root", str(directory)]
    assert "train.num_epochs=1" in arguments and "budget.max_cost_usd=null" in arguments
    assert directory.parent == launcher.runs / "searchqa" and KEY not in " ".join(arguments)


@pytest.mark.parametrize(
    "changes",
    [
        {"model.azure_openai_api_key": "sk-1"},
        {"env.out_root": "/tmp/elsewhere"},
        {"env.split_dir": "/etc"},
        {"env.skill_init": "../../etc/passwd"},
        {"env.data_path": "~root/x"},
        {"env.split_dir": "a\0b"},
    ],
)
def test_what_a_form_may_not_ask_for(launcher: Launcher, changes: dict[str, str]) -> None:
    assert launcher.refused(Wish(CONFIG, changes=changes))
    with pytest.raises(ConfigError):
        launcher.load(Wish(CONFIG, changes=changes), ENVIRON)


def test_a_configuration_is_chosen_by_name_only(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("env: {name: searchqa}\n")
    assert CONFIG in launcher.configs()
    for name in ("other.yaml", "../x.yaml", "/etc/passwd"):
        assert "no configuration" in launcher.refused(Wish(name))[0]


def test_uploads_get_a_safe_place(launcher: Launcher) -> None:
    path = launcher.keep_file("../../my data;.csv", b"input,answer\n1,2\n")
    assert path.parent.parent == launcher.runs / "uploads" and path.name == "my_data_.csv"
    for name in ("x.py", "x", ".csv.sh"):
        with pytest.raises(DataError):
            launcher.keep_file(name, b"")


def test_caps_are_remembered_as_numbers() -> None:
    assert caps_in({"budget.max_cost_usd": "2.5", "budget.max_tokens": "no", "train.seed": "1"}) == {
        "max_cost_usd": 2.5
    }


def test_resuming_needs_the_resolved_configuration(launcher: Launcher, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        launcher.resume(tmp_path, {})
    (tmp_path / "config.yaml").write_text("env: {name: searchqa}\n")
    arguments = launcher.resume(tmp_path, {"max_cost_usd": "3", "max_tokens": ""})
    assert "budget.max_cost_usd=3" in arguments and arguments[-1] == str(tmp_path)
    with pytest.raises(ValueError):
        launcher.resume(tmp_path, {"max_tokens": "many; rm -rf"})


def test_a_started_process_is_found_stopped_and_forgotten(tmp_path: Path) -> None:
    children = processes.Children()
    directory = tmp_path / "run"
    launch = children.start(directory, ["train", "--config", "missing.yaml"], dict(os.environ) | {"A_KEY": KEY}, {})
    record = (directory / "dashboard" / "launch.json").read_text()
    assert KEY not in record and processes.launch_of(directory) == launch
    until = time.monotonic() + 60
    while processes.worker(directory) is not None and time.monotonic() < until:
        time.sleep(0.05)
    while children.tidy() and time.monotonic() < until:
        time.sleep(0.02)
    assert processes.worker(directory) is None and "missing.yaml" in processes.output_of(directory)


def test_a_stale_process_number_is_nobody(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".lock.pid").write_text(f"{os.getpid()}\n")
    assert processes.worker(tmp_path) is None and processes.left_behind(tmp_path)
    assert not processes.stop(tmp_path)


def test_the_holder_of_the_lock_is_asked_to_stop(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from skillopt.journal.lock import RunLock\n"
        "lock = RunLock(Path(sys.argv[1])); lock.acquire()\n"
        "try: print('held', flush=True); time.sleep(60)\nexcept KeyboardInterrupt: sys.exit(7)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        assert processes.worker(tmp_path) == process.pid
        assert processes.stop(tmp_path)
        assert process.wait(20) == 7
