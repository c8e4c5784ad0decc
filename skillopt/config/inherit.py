"""A configuration file together with the files it is based on.

`_base_` names one file or a list of files, relative to the file that names them; a later base beats an earlier one and
the file itself beats all. Problems are gathered, so that one start of the program shows every one of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from skillopt.config.layers import Setting, layer_of, merged
from skillopt.config.suggest import nearest
from skillopt.config.yaml_source import Entry, parse
from skillopt.types import JSON

_NEAR_FILES = 500
"""How many files are looked at to answer "did you mean": enough for any configs folder, quick on a home folder."""


@dataclass(slots=True)
class Inheritance:
    """Reads a chain of files once; `problems` and `warnings` fill up on the way."""

    problems: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    _strength: int = 0

    def read(self, path: Path, shown: str) -> Mapping[str, Setting]:
        """The settings of a file and its bases; `shown` is its name in messages."""
        if problem := missing(path, shown):
            self.problems.append(problem)
            return {}
        return self._file(path, shown, ((path.resolve(), shown),))

    def _file(self, path: Path, shown: str, chain: tuple[tuple[Path, str], ...]) -> Mapping[str, Setting]:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
            self.problems.append(f"{shown}: cannot be read: {reason}")
            return {}
        document = parse(text, shown)
        self.problems += document.problems
        settings: Mapping[str, Setting] = {}
        for entry in document.entries:
            if entry.key == "_base_":
                settings = self._bases(entry, path, shown, chain)
        own = layer_of([e for e in document.entries if e.key != "_base_"], shown, self._strength)
        self._strength += 1
        self.problems += own.problems
        self.warnings += own.warnings
        return merged(settings, own.settings)

    def _bases(
        self, entry: Entry, path: Path, shown: str, chain: tuple[tuple[Path, str], ...]
    ) -> Mapping[str, Setting]:
        where = f"{shown}:{entry.line}: _base_"
        names: Sequence[JSON] = entry.value if isinstance(entry.value, list) else (entry.value,)
        settings: Mapping[str, Setting] = {}
        for name in names:
            if not isinstance(name, str) or not name.strip():
                self.problems.append(f"{where}: must be a file name or a list of file names")
                continue
            base, base_shown = path.parent / name, os.path.normpath(Path(shown).parent / name)
            link = (base.resolve(), base_shown)
            if problem := missing(base, base_shown):
                self.problems.append(f"{where}: {problem}")
            elif link[0] in {seen for seen, _ in chain}:
                circle = " -> ".join(s for _, s in (*chain, link))
                self.problems.append(f"{where}: the files inherit from each other: {circle}; remove one _base_")
            else:
                settings = merged(settings, self._file(base, base_shown, (*chain, link)))
        return settings


def missing(path: Path, shown: str) -> str | None:
    """Why a file cannot be opened, with the file that was probably meant; None when it is there."""
    if path.is_file():
        return None
    if path.is_dir():
        inside = path / "default.yaml"
        return f"{shown}: is a folder" + (f"; did you mean {Path(shown) / inside.name}?" if inside.is_file() else "")
    if path.parent.name == "examples" and path.name == "soft_gate.yaml":
        return f"{shown}: no such file: it is now {Path(shown).parent.parent / 'features' / path.name}"
    found = _near(path)
    if found is None:
        return f"{shown}: no such file"
    meant = os.path.normpath(Path(shown).parent / os.path.relpath(found, path.parent))
    return f"{shown}: no such file; did you mean {meant}?"


def _near(path: Path) -> Path | None:
    """A YAML file with a like name, at or below the nearest folder that exists; wide folders are not searched deep."""
    folder = next((p for p in path.parents if p.is_dir()), None)
    if folder is None:
        return None
    wide = folder.resolve() in (Path.cwd(), Path.home(), Path(path.anchor or "/"))
    pattern = "*.y*ml" if wide else "**/*.y*ml"
    files = {str(f): f for f in islice(folder.glob(pattern), _NEAR_FILES)}
    found = nearest(str(path), files, cutoff=0.8)
    return files[found] if found else None
