"""A fresh workspace for each attempt, and the prompt that goes with it. No expected answer is ever in it."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillopt.agents.base import Task
from skillopt.agents.cli.base import SKILL_DESCRIPTION, SKILL_NAME, SkillFile
from skillopt.agents.cli.box import Room
from skillopt.errors import SkillOptError
from skillopt.skill.package import export, split_front_matter

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ODD = re.compile(r"[^\w.-]+")
_PASSWD = "agent:x:1000:1000::/home/agent:/bin/bash\n"
_ALONE = "Carry out this task on your own: nobody can answer questions. Your last message is taken as the answer."


def skill_file(text: str) -> SkillFile | None:
    """The document under training as a skill; its own front matter is kept. None when it is empty."""
    parted = split_front_matter(text)
    if not parted.body.strip():
        return None
    fields = parted.front.fields if parted.front else {}
    name, description = str(fields.get("name") or ""), str(fields.get("description") or "").strip()
    if not _NAME.fullmatch(name) or len(name) > 64:
        name = SKILL_NAME
    if not 0 < len(description) <= 1024:
        description = SKILL_DESCRIPTION
    return SkillFile(name, export(text, name, description), parted.body)


@contextmanager
def room(parent: Path | None = None) -> Generator[Room, None, None]:
    """Empty folders outside of checkout and home, for one attempt; afterwards they are gone."""
    root = Path(tempfile.mkdtemp(prefix="skillopt-agent-", dir=parent)).resolve()
    made = Room(root)
    try:
        for folder in (made.work, made.home, made.wire):
            folder.mkdir()
        (root / "passwd").write_text(_PASSWD)
        yield made
    finally:
        shutil.rmtree(root, ignore_errors=True)


def furnish(made: Room, task: Task, skill: tuple[str, str] | None, prompt: str) -> tuple[Path, ...]:
    """Put skill, task, attachments and files into the workspace; gives the copies of the pictures."""
    if skill is not None:
        place, text = skill
        write(made.work / place, text)
    write(made.work / "task.md", prompt)
    for source, name in task.files:
        place = (made.work / name).resolve()
        if made.work not in place.parents:
            raise SkillOptError(f"a task wants its file at {name!r}, which is not within the workspace")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    return tuple(_attached(made.work, number, picture.path) for number, picture in enumerate(task.pictures, 1))


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def prompt_of(task: Task, documents: Sequence[str], mention: str = "") -> str:
    """All that the program is told. It begins with a sentence of ours: a dash or slash at the start has a meaning."""
    attached = [f"attachments/{_named(number, picture.path)}" for number, picture in enumerate(task.pictures, 1)]
    parts = [
        f"{mention} {_ALONE}".strip(),
        task.system.strip(),
        task.user.strip(),
        _listed("The attached pictures are also files of the workspace", attached),
        _listed("Files in the workspace", [name for _, name in task.files]),
        _listed("Folders to search with your own tools; they cannot be changed", documents),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(title: str, names: Sequence[str]) -> str:
    return f"{title}:\n" + "\n".join(f"- {name}" for name in names) if names else ""


def _attached(work: Path, number: int, picture: Path) -> Path:
    place = work / "attachments" / _named(number, picture)
    place.parent.mkdir(exist_ok=True)
    try:
        shutil.copyfile(picture, place)
    except OSError as error:
        raise SkillOptError(f"the image {picture} cannot be read: {error.strerror or error}") from error
    return place


def _named(number: int, picture: Path) -> str:
    return f"{number:02d}_{_ODD.sub('_', picture.name)[-80:]}"
