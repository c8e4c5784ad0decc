"""Finding a program: where the configuration says, on the path, or in a Python package that brings it.

A program is shown to the box with what lies beside it and belongs to it, and with nothing else of its owner's home.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.agents.cli.base import Cli
from skillopt.errors import ConfigError

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Program:
    """`shown` are the files and folders without which it does not run."""

    path: Path
    version: str
    shown: tuple[Path, ...]
    search: tuple[str, ...] = ()
    """Folders for its PATH, before the usual ones."""


def find(cli: type[Cli], configured: str, environ: Mapping[str, str]) -> Program:
    """The program of a backend, asked for its version; a `ConfigError` says how to get it."""
    path = _path(cli, configured, environ)
    if path is None:
        said = f"{configured!r} is not there" if configured else f"there is no program {cli.command_name!r}"
        raise ConfigError(f"model.target_backend {cli.name}: {said}. Install it with {cli.advice}, or name its file")
    search = tuple(str(folder) for folder in _interpreter(path, environ))
    return Program(path, version(path, search), (*_shown(path), *map(Path, search)), search)


def installed(cli: type[Cli], environ: Mapping[str, str]) -> Path | None:
    """Where the program is, if it is anywhere: for tests and for checks."""
    return _path(cli, "", environ)


def _path(cli: type[Cli], configured: str, environ: Mapping[str, str]) -> Path | None:
    name = configured or cli.command_name
    found = shutil.which(str(Path(name).expanduser()) if "/" in name else name, path=environ.get("PATH", ""))
    if found is None and "/" not in name and cli.packaged is not None:
        found = _in_package(cli.packaged.module, cli.packaged.file)
    return Path(found).resolve() if found else None


def _in_package(module: str, file: str) -> str | None:
    spec = importlib.util.find_spec(module)
    folders = spec.submodule_search_locations if spec else None
    return next((str(Path(folder) / file) for folder in folders or () if (Path(folder) / file).is_file()), None)


def _shown(path: Path) -> tuple[Path, ...]:
    if modules := [folder for folder in path.parents if folder.name == "node_modules"]:
        return (modules[-1],)
    # A package with its own helpers beside the program's folder.
    package = path.parent.parent
    if path.parent.name == "bin" and any(package.glob("*-package.json")):
        return (package,)
    return (path,)


def _interpreter(path: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folder of the interpreter that a script needs; an executable of its own needs none."""
    with path.open("rb") as file:
        first = file.readline(200)
    if not first.startswith(b"#!"):
        return ()
    found = shutil.which(first.split()[-1].decode(errors="replace"), path=environ.get("PATH", ""))
    return (Path(found).resolve().parent,) if found else ()


def version(path: Path, search: tuple[str, ...] = ()) -> str:
    """What `--version` says; a program that does not run at all is refused here."""
    with tempfile.TemporaryDirectory(prefix="skillopt-agent-") as home:
        environment = {"HOME": home, "PATH": ":".join((*search, "/usr/local/bin", "/usr/bin", "/bin"))}
        try:
            ran = subprocess.run(
                [path, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
                cwd=home,
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"{path} does not run: {error}") from error
    said = ran.stdout.decode(errors="replace")
    found = _VERSION.search(said)
    if found is None:
        raise ConfigError(f"{path} --version says {(said or ran.stderr.decode(errors='replace'))[:200]!r}, no version")
    return found[0].rstrip(".")
