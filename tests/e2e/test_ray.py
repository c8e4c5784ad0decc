"""A real cluster of two nodes: the same run decides the same there, and no death of a node or the driver costs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pytest

from skillopt.journal.log import Journal
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import outcome_of
from skillopt.testing.world import World, write_split
from skillopt.types import JSON

HERE = Path(__file__).parent / "cluster"
CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
KEY = "sk-of-the-driver-alone"

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason='Ray is not installed: pip install "skillopt[ray]"')


@dataclass
class TwoNodes:
    address: str
    second: str
    process: subprocess.Popen[str]

    def kill_the_second(self) -> None:
        _pipe(self.process.stdin).write("kill\n")
        _pipe(self.process.stdin).flush()
        assert _pipe(self.process.stdout).readline() == "killed\n"


@contextmanager
def two_nodes(home: Path) -> Iterator[TwoNodes]:
    with (home / "cluster.log").open("w") as log:
        command = [sys.executable, str(HERE / "two_nodes.py")]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            said = _pipe(process.stdout).readline().split()
            assert len(said) == 2, (home / "cluster.log").read_text()
            yield TwoNodes(said[0], said[1], process)
        finally:
            _pipe(process.stdin).close()
            process.wait(30)
            _pipe(process.stdout).close()


@dataclass
class Runs:
    """The command, run in processes of their own; each run has a file that says where its attempts were."""

    home: Path
    server: LoopbackServer

    def start(self, name: str, *more: str) -> subprocess.Popen[str]:
        self.server.reset()
        command = [sys.executable, "-m", "skillopt.cli", "train", "--config", str(CONFIG), "--plain"]
        command += ["--env", f"{HERE / 'witnessed.py'}:Witnessed", "--split_dir", str(self.home / "split")]
        command += ["--azure_openai_endpoint", self.server.url, "--out_root", str(self.home / name)]
        command += ["--num_epochs", "1", "--batch_size", "6", "--minibatch_size", "3", "--workers", "4", *more]
        options = [f"env.witness={self.home / name}.nodes", "ray.num_cpus=0.5"]
        environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
        environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "OPENAI_API_KEY": KEY}
        return subprocess.Popen(
            [*command, "--cfg-options", *options],
            env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def finish(self, process: subprocess.Popen[str]) -> JSON:
        """The questions that were paid for."""
        said, _ = process.communicate(timeout=240)
        assert process.returncode == 0, said
        return self.server.stats()["answers"]

    def attempts(self, name: str) -> list[tuple[str, int]]:
        """Node and process of every attempt that was begun."""
        file = self.home / f"{name}.nodes"
        rows = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [(row[0], int(row[1])) for row in rows]


def test_two_nodes_decide_as_one_machine_does_and_deaths_cost_nothing(tmp_path: Path) -> None:
    write_split(tmp_path / "split", 12, 8, 8, seed=1)
    with LoopbackServer.in_thread(World(5, noise=0.05), seed=5, latency=0.1, api_key=KEY) as server:
        runs = Runs(tmp_path, server)
        whole = runs.finish(runs.start("local"))
        assert {node for node, _ in runs.attempts("local")} == {"driver"}
        with two_nodes(tmp_path) as cluster:
            there = ("--executor", "ray", "--ray_address", cluster.address)
            assert runs.finish(runs.start("there", *there)) == whole
            nodes = [node for node, _ in runs.attempts("there")]
            assert len(set(nodes)) == 2 and cluster.second in nodes and len(nodes) == len(runs.attempts("local"))

            killed = runs.start("driver_killed", *there)
            until(lambda: len(runs.attempts("driver_killed")) > 20)
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
            until(lambda: not any(alive(pid) for _, pid in runs.attempts("driver_killed")))

            wounded = runs.start("node_killed", *there)
            until(lambda: [node for node, _ in runs.attempts("node_killed")].count(cluster.second) > 5)
            cluster.kill_the_second()
            assert runs.finish(wounded) == whole, "an answer was paid for twice, or not asked for"
        assert set(runs.finish(runs.start("driver_killed"))) < set(whole), "what was recorded was asked again"
    for name in ("there", "driver_killed", "node_killed"):
        assert outcome_of(tmp_path / name) == outcome_of(tmp_path / "local")
        keys = [event.key for event in Journal.read(tmp_path / name)]
        assert len(keys) == len(set(keys))


def test_a_cluster_that_is_not_there_is_told_before_anything_is_paid(tmp_path: Path) -> None:
    write_split(tmp_path / "split", 12, 8, 8, seed=1)
    with LoopbackServer.in_thread(World(5), api_key=KEY) as server:
        runs = Runs(tmp_path, server)
        process = runs.start("nowhere", "--executor", "ray", "--ray_address", "127.0.0.1:9")
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 2 and "there is no Ray cluster at 127.0.0.1:9" in said
        assert server.stats()["requests"] == 0


def until(done: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
