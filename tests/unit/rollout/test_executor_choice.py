from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

import skillopt.rollout.executors.connection as connection
from skillopt.config.compare import differing
from skillopt.config.load import Override, load_config
from skillopt.config.schema import Config
from skillopt.errors import ConfigError
from skillopt.rollout.executors import Recipe, executor_of
from skillopt.rollout.executors.local import Local

CONFIG = Path(__file__).parents[3] / "configs" / "searchqa" / "default.yaml"


def configured(**settings: object) -> Config:
    given = [Override(key.replace("__", "."), value, "test") for key, value in settings.items()]
    return load_config(CONFIG, given).config


def nothing(environ: object) -> None: ...


def test_attempts_run_here_unless_a_cluster_is_asked_for() -> None:
    assert isinstance(executor_of(configured(), Recipe(nothing), {}), Local)


def test_without_ray_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install "skillopt\[ray\]"'):
        executor_of(configured(env__executor="ray"), Recipe(nothing), {})


def test_a_closed_door_is_told_at_once_and_without_ray() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(ConfigError, match=rf"no Ray cluster at ray://127\.0\.0\.1:{port}.*No model was called"):
        connection.check_reachable(f"ray://127.0.0.1:{port}")
    assert time.monotonic() - began < 2
    with pytest.raises(ConfigError, match="is no address of a cluster"):
        connection.check_reachable("my-cluster")


def test_what_an_attempt_takes_can_be_said_on_the_command_line_and_in_a_file(tmp_path: Path) -> None:
    spoken = configured(ray__resources="simulator:1,disk:0.5", ray__num_cpus="0.1")
    assert spoken.ray.resources == {"simulator": 1.0, "disk": 0.5} and spoken.ray.num_cpus == 0.1
    file = tmp_path / "a.yaml"
    file.write_text("env:\n  name: searchqa\nray:\n  resources: {simulator: 1}\n")
    assert load_config(file, ()).config.ray.resources == {"simulator": 1.0}
    for wrong in ("simulator", "simulator:x", "simulator:0"):
        with pytest.raises(ConfigError, match=r"ray\.resources"):
            configured(ray__resources=wrong)


def test_a_run_may_move_to_a_cluster_and_back() -> None:
    here, there = configured(), configured(env__executor="ray", ray__address="head:6379", ray__num_cpus=0.5)
    assert differing(here.public(), there.public()) == ()
