"""`skillopt new benchmark`: what it writes passes its own test and trains, wherever it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillopt.cli import cli
from skillopt.testing.server import LoopbackServer
from skillopt.testing.tickets import Tickets


def command(home: Path, *arguments: str, url: str = "") -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    environ = {**kept, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-new", "NO_COLOR": "1"}
    done = [sys.executable, "-m", *arguments]
    return subprocess.run(done, cwd=home, env=environ, capture_output=True, text=True, timeout=90, check=False)


@pytest.mark.parametrize("folder", [".", "my work/deep"])
def test_the_skeleton_passes_its_test_and_trains(tmp_path: Path, folder: str) -> None:
    made = command(tmp_path, "skillopt.cli", "new", "benchmark", "parcel_desk", "--dir", folder)
    assert made.returncode == 0, made.stderr
    home = Path(folder) / "parcel_desk"
    assert "skillopt train --config" in made.stdout and str(home / "config.yaml") in made.stdout
    names = {file.name for file in (tmp_path / home).rglob("*") if file.is_file()}
    assert {"adapter.py", "config.yaml", "target.md", "initial.md", "test_parcel_desk.py", "items.jsonl"} <= names
    assert len((tmp_path / home / "adapter.py").read_text().splitlines()) < 80

    tested = command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", str(home))
    assert tested.returncode == 0, tested.stdout
    with LoopbackServer.in_thread(Tickets(0)) as server:
        config = str(home / "config.yaml")
        done = command(tmp_path, "skillopt.cli", "train", "--plain", "--config", config, url=server.url)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "outputs/parcel_desk").iterdir()
    assert json.loads((run / "summary.json").read_text())["test_hard"] == 1.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Parcel", "small letters"),
        ("class", "small letters"),
        ("../up", "small letters"),
        ("searchqa", "already"),
        ("there", "already there"),
    ],
)
def test_a_bad_name_or_a_folder_in_the_way_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    done = CliRunner().invoke(cli, ["new", "benchmark", name])
    assert done.exit_code == 2 and words in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["there"] and not list((tmp_path / "there").iterdir())


def test_a_copied_template_is_a_benchmark_of_the_package() -> None:
    """The guide's tip: copy `skillopt/envs/_template/`. The folder itself is no benchmark."""
    from skillopt.registry import BENCHMARKS, load, names

    root = Path(__file__).parents[2]
    assert "_template" not in names(BENCHMARKS)
    assert load(BENCHMARKS, str(root / "skillopt/envs/_template/adapter.py")).__name__ == "TemplateBenchmark"
