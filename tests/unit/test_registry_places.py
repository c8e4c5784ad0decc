"""Benchmarks by folder and by file: found without being imported, and explained when they cannot be loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skillopt import registry
from skillopt.errors import PluginError
from skillopt.registry import BENCHMARKS, load, names

BENCH = """
from skillopt.envs.base import Benchmark, Options
from .words import WORD

class MineOptions(Options): ...
class _Base(Benchmark): ...
class Mine(_Base):
    name = WORD
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "words.py").write_text("WORD = 'mine'\n")
    (tmp_path / "adapter.py").write_text(BENCH)
    return tmp_path


def test_a_file_is_loaded_with_what_is_beside_it(home: Path) -> None:
    found = load(BENCHMARKS, f"{home / 'adapter.py'}:Mine")
    assert found.__name__ == "Mine" and vars(found)["name"] == "mine"
    assert load(BENCHMARKS, str(home / "adapter.py")) is found
    assert sys.modules[found.__module__].__file__ == str(home / "adapter.py")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nothing.py:Mine", "there is no file"),
        ("adapter.py:Mime", "has no attribute 'Mime'"),
        ("words.py", "it has none"),
        ("two.py", r"it has 2 \(A, B\)"),
        ("broken.py:X", "division by zero"),
    ],
)
def test_a_file_that_cannot_be_used_is_explained(home: Path, place: str, words: str) -> None:
    (home / "two.py").write_text(
        "from skillopt.envs.base import EnvAdapter\nclass A(EnvAdapter): ...\nclass B(EnvAdapter): ...\n"
    )
    (home / "broken.py").write_text("1 / 0\n")
    with pytest.raises(PluginError, match=words):
        load(BENCHMARKS, str(home / place))


def test_a_folder_of_the_package_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fresh", "_hidden", "searchqa"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter.py").write_text("raise RuntimeError('nobody should import this')\n")
    (tmp_path / "no_adapter").mkdir()
    monkeypatch.setattr(registry, "_ENVS", tmp_path)
    assert "fresh" in names(BENCHMARKS) and not {"_hidden", "no_adapter"} & set(names(BENCHMARKS))
    # The folder of a benchmark that has an entry point is that benchmark.
    assert load(BENCHMARKS, "searchqa").__name__ == "SearchQA"
    with pytest.raises(PluginError, match=r"skillopt\.envs\.fresh"):
        load(BENCHMARKS, "fresh")


def test_a_package_beside_the_working_directory_gets_a_hint(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mybench").mkdir()
    monkeypatch.chdir(home)
    with pytest.raises(PluginError, match=r"PYTHONPATH=\."):
        load(BENCHMARKS, "mybench.adapter:Mine")


def test_listing_imports_no_benchmark() -> None:
    code = (
        "import sys; from skillopt.registry import names; names('skillopt.benchmarks'); "
        "print([m for m in sys.modules if m.startswith('skillopt.envs')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
