"""The workbooks of a task: pairs of input and answer in three ways of naming, found and named by content at loading."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

_NUMBERED = re.compile(r"(?P<number>\d+)_.+_(?P<role>input|answer|init|golden)\.xlsx", re.IGNORECASE)
_ROLES = {"input": "input", "init": "input", "answer": "answer", "golden": "answer"}
_BARE = (("initial.xlsx", "golden.xlsx"), ("input.xlsx", "answer.xlsx"))


@dataclass(frozen=True, slots=True)
class Case:
    """One pair. The digests name the files' content; the paths say where they lie today."""

    number: str
    input: Path
    answer: Path
    input_sha: str
    answer_sha: str


def cases_in(folder: Path) -> tuple[Case, ...]:
    """The pairs of a folder in the order of their numbers; a ValueError says everything that is wrong."""
    if not folder.is_dir():
        raise ValueError(f"the folder of workbooks {folder} does not exist (env.data_root, then spreadsheet_path)")
    pairs = _numbered(folder) or _bare(folder)
    if not pairs:
        raise ValueError(
            f"{folder} holds no workbooks; wanted <n>_<id>_input.xlsx and _answer.xlsx, _init.xlsx and _golden.xlsx, "
            "or initial.xlsx and golden.xlsx"
        )
    lone = [
        f"case {number} in {folder} has no {role} workbook"
        for number, found in pairs.items()
        for role in ("input", "answer")
        if role not in found
    ]
    if lone:
        raise ValueError("; ".join(lone))
    ordered = sorted(pairs.items(), key=lambda pair: (int(pair[0]), pair[0]))
    return tuple(_case(number, found["input"], found["answer"]) for number, found in ordered)


def _numbered(folder: Path) -> dict[str, dict[str, Path]]:
    pairs: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        if found := _NUMBERED.fullmatch(path.name):
            pairs.setdefault(found["number"], {})[_ROLES[found["role"].lower()]] = path
    return pairs


def _bare(folder: Path) -> dict[str, dict[str, Path]]:
    for names in _BARE:
        found = {role: folder / name for role, name in zip(("input", "answer"), names, strict=True)}
        there = {role: path for role, path in found.items() if path.is_file()}
        if there:
            return {"1": there}
    return {}


def _case(number: str, first: Path, second: Path) -> Case:
    return Case(number, first, second, _sha(first), _sha(second))


def _sha(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"the workbook {path} cannot be read: {error.strerror}") from error
    if not data.startswith(b"PK"):
        raise ValueError(f"the workbook {path} is no xlsx file")
    return hashlib.sha256(data).hexdigest()
