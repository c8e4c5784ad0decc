"""A trained skill where an agent looks for it, with a mark that says what it comes from.

The mark is a comment at the end, so that the author's front matter stays as it is. It holds a digest of what was
written: text that somebody changed since, or that was never ours, is not replaced without a word.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from skillopt import __version__
from skillopt.errors import SkillFileError
from skillopt.journal.files import back_up, write_atomic
from skillopt.journal.log import Journal
from skillopt.journal.runs import list_runs
from skillopt.journal.scan import LOG
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill
from skillopt.skill.package import LONGEST_NAME, check_package, export, split_front_matter
from skillopt.types import Tally, canonical, digest

Format = Literal["agent-skill", "claude", "codex", "agents-md"]
FORMATS: tuple[Format, ...] = get_args(Format)

_FOLDERS = {"agent-skill": "", "claude": ".claude/skills", "codex": ".agents/skills"}
_MARK = re.compile(r"\n*<!-- Written by SkillOpt [^\n]*; content ([0-9a-f]{16}) -->\n?\Z")
_SECTION = re.compile(
    r"<!-- skillopt:begin (?P<name>[a-z0-9-]+); content (?P<digest>[0-9a-f]{16}) -->\n"
    r"(?P<text>.*?)<!-- skillopt:end (?P=name) -->\n?",
    re.S,
)
_FENCE = re.compile(r"<!-- skillopt:(begin|end)[^\n]*-->\n?")
_HEADING = re.compile(r"^#\s+(.+)$", re.M)


@dataclass(frozen=True, slots=True)
class Source:
    """A skill, and what is known of its training in a few words."""

    skill: Skill
    told: str = ""
    fallback: str = "skill"
    """What it is called when nothing in it says so."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for; a blank name or description is taken from the skill."""

    format: Format
    out: Path = Path()
    name: str = ""
    description: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """Where the skill is now. `changed` is False when it was there already."""

    path: Path
    name: str
    changed: bool
    backup: Path | None = None


def find_source(where: Path | None, runs: Path = Path("outputs")) -> Source:
    """A run's best skill, a skill file or folder, or the newest training run there is."""
    if where is None:
        rows = list_runs(runs) if runs.is_dir() else ()
        found = next((row for row in rows if row.view and row.view.kind == "train" and row.view.state), None)
        if found is None or found.view is None:
            raise SkillFileError(f"there is no training run below {runs}/; name a run or a skill file.")
        return _trained(found.view, found.path)
    home = where.parent if where.name == "best_skill.md" else where
    if (home / LOG).is_file():
        return _trained(RunView.of(Journal.read(home)), home)
    skill = Skill.load(where)
    stem = where.resolve().parent.name if where.name == "SKILL.md" else where.resolve().stem
    return Source(skill, fallback=stem)


def write_export(source: Source, wanted: Wanted) -> Exported:
    """Write the skill. Nothing that we did not write is replaced, unless forced, and then a backup is kept."""
    skill = Skill.parse(_MARK.sub("\n", source.skill.text))
    if not skill.text.strip():
        raise SkillFileError("the skill is empty: there is nothing to export.")
    name = wanted.name or _name_in(skill, source.fallback)
    if wanted.format == "agents-md":
        return _section(skill, name, source, wanted)
    folder = wanted.out / _FOLDERS[wanted.format] / name
    text = export(skill.text, name, wanted.description or _description_in(skill, name))
    return _file(folder / "SKILL.md", _marked(text, source), name, force=wanted.force)


def _file(path: Path, text: str, name: str, *, force: bool) -> Exported:
    path = path.resolve()
    old = _read(path)
    if old == text:
        return Exported(path, name, changed=False)
    if old is not None and not _ours(old) and not force:
        raise SkillFileError(
            f"{path} is there already, and SkillOpt did not write it or it was changed since. Choose another --name or "
            "--out, or add --force (the old file is kept beside it)."
        )
    backup = back_up(path) if old is not None and not _ours(old) else None
    write_atomic(path, text.encode(), durable=True)
    return Exported(path, name, changed=True, backup=backup)


def _section(skill: Skill, name: str, source: Source, wanted: Wanted) -> Exported:
    """AGENTS.md belongs to the project: only the section between our two marks is written."""
    check_package(name, "a section")
    path = (wanted.out / "AGENTS.md").resolve()
    old = _read(path) or ""
    inner = _marked(_FENCE.sub("", skill.without_front.text).strip() + "\n", source)
    block = f"<!-- skillopt:begin {name}; content {digest(inner)} -->\n{inner}<!-- skillopt:end {name} -->\n"
    present = next((found for found in _SECTION.finditer(old) if found["name"] == name), None)
    touched = present is not None and digest(present["text"]) != present["digest"]
    if touched and not wanted.force:
        raise SkillFileError(
            f"the section {name} of {path} was changed by hand; nothing was written. Take your changes over into the "
            "skill, or add --force (the old file is kept beside it)."
        )
    if present is None and f"skillopt:begin {name}" in old:
        raise SkillFileError(f"{path}: the marks of the section {name} are damaged; mend or remove them by hand.")
    start, end = present.span() if present else (len(old), len(old))
    text = old[:start] + ("" if present else _gap(old)) + block + old[end:]
    if text == old:
        return Exported(path, name, changed=False)
    backup = back_up(path) if touched else None
    write_atomic(path, text.encode(), durable=True)
    return Exported(path, name, changed=True, backup=backup)


def _gap(text: str) -> str:
    return "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"


def _marked(text: str, source: Source) -> str:
    body = text.rstrip("\n") + "\n"
    told = f": {source.told}" if source.told else ""
    return f"{body}\n<!-- Written by SkillOpt {__version__}{told}; content {digest(body)} -->\n"


def _ours(text: str) -> bool:
    mark = _MARK.search(text)
    return mark is not None and digest(text[: mark.start()] + "\n") == mark[1]


def _read(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        return path.read_bytes().decode()
    except (UnicodeDecodeError, OSError) as error:
        raise SkillFileError(f"{path} cannot be read as text: {error}. Nothing was written.") from error


def _name_in(skill: Skill, fallback: str) -> str:
    """The author's name for it, else its heading or file as a name."""
    front = split_front_matter(skill.front).front
    if front is not None and front.fields.get("name"):
        return str(front.fields["name"])
    heading = _HEADING.search(skill.body)
    slug = re.sub(r"[^a-z0-9]+", "-", (heading[1] if heading else fallback).lower()).strip("-")
    return slug[:LONGEST_NAME].strip("-") or "skill"


def _description_in(skill: Skill, name: str) -> str:
    front = split_front_matter(skill.front).front
    if front is not None and front.fields.get("description"):
        return str(front.fields["description"])
    raise SkillFileError(
        f"the skill {name} has no description, and agents decide by it when to load a skill. Add --description "
        '"what it does, and when to use it".'
    )


def _trained(view: RunView, path: Path) -> Source:
    if view.kind != "train" or view.state is None or view.started is None:
        raise SkillFileError(f"{path} has no trained skill: it is no training run, or has not begun.")
    words = [f"run {digest(canonical(view.started.model_dump()))}", _date(view), f"skill {view.state.best.digest}"]
    words += [] if view.finished else ["unfinished"]
    if view.baseline is not None and view.baseline.tally is not None:
        words.append(_change("validation", view.baseline.objective, view.state.best_score, view.baseline.tally.n))
    if view.finished and view.finished.baseline_test and view.finished.best_test:
        words.append(_tested(view.finished.baseline_test, view.finished.best_test))
    return Source(view.state.best, ", ".join(words), fallback=path.resolve().name)


def _date(view: RunView) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(view.sessions[-1].last))


def _tested(before: Tally, after: Tally) -> str:
    return _change("test", before.hard, after.hard, after.n)


def _change(what: str, before: float | None, after: float | None, n: int) -> str:
    shown = ["unknown" if value is None else f"{value:.3f}" for value in (before, after)]
    return f"{what} {' to '.join(shown)} (n = {n})"
