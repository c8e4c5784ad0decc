"""Run directories: where a run lives, which one a repeated command continues, and what makes two runs the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skillopt.config.compare import differences
from skillopt.errors import JournalError, ResumeRefused
from skillopt.journal.events import Finished, RunStarted
from skillopt.journal.log import Journal
from skillopt.journal.scan import LOG
from skillopt.journal.view import RunView
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of `skillopt runs list`. `broken` says why a directory cannot be read."""

    path: Path
    view: RunView | None
    broken: str = ""


def default_directory(home: Path, config: dict[str, JSON]) -> Path:
    """The newest unfinished run of this very configuration, so that repeating a command continues it, or a new one."""
    for path in sorted(home.glob("*"), reverse=True) if home.is_dir() else ():
        started = first_record(path)
        if started and started.kind == "train" and not differences(_resolved(started), config) and not _finished(path):
            return path
    return new_directory(home)


def new_directory(home: Path, prefix: str = "") -> Path:
    """`<home>/<date_time>`; a second one in the same second gets a number."""
    name = prefix + time.strftime("%Y-%m-%d_%H-%M-%S")
    path, n = home / name, 2
    while path.exists():
        path, n = home / f"{name}_{n}", n + 1
    return path


def set_aside(path: Path) -> Path | None:
    """Make room for a fresh run without losing the old one: it is renamed, never deleted."""
    if not (path / LOG).exists():
        return None
    aside = new_directory(path.parent / f"{path.name}.old")
    aside.parent.mkdir(parents=True, exist_ok=True)
    path.rename(aside)
    return aside


def first_record(path: Path) -> RunStarted | None:
    """The fingerprint of a run directory; None when there is none or it cannot be read."""
    if not (path / LOG).is_file():
        return None
    try:
        event = next(Journal.read(path), None)
    except JournalError:
        return None
    return event.body if event and isinstance(event.body, RunStarted) else None


def check_same(old: RunStarted, new: RunStarted, path: Path) -> None:
    """Refuse to continue another experiment, naming what differs."""
    changed = [str(d) for d in differences(_resolved(old), _resolved(new))]
    if old.kind != new.kind:
        changed.insert(0, f"command: was {old.kind}, now {new.kind}")
    for what, before, after in (("prompt", old.prompts, new.prompts), ("data", old.data, new.data)):
        names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
        changed += [f"{what} {name}: its content has changed" for name in names]
    for what in ("backend", "version"):
        was, now = old.program.get(what), new.program.get(what)
        if was and now and was != now:
            changed.append(f"{what} of the target's program: was {was}, now {now}")
    if old.seed_skill != new.seed_skill:
        changed.append("seed skill: its text has changed")
    if changed:
        listed = "\n".join(f"  {line}" for line in changed)
        raise ResumeRefused(
            f"{path} holds a run with other settings; nothing was changed and no model was called.\n{listed}\n"
            "Give these back their old values, choose another --out_root, or add --fresh to start anew "
            "(the old run is kept beside it).",
            [line.split(":")[0] for line in changed],
        )


def list_runs(root: Path) -> Iterator[RunRow]:
    """Every run below a directory, newest first."""
    logs = sorted(root.rglob(LOG), key=lambda p: p.stat().st_mtime, reverse=True)
    for log in logs:
        try:
            yield RunRow(log.parent, RunView.of(Journal.read(log.parent)))
        except JournalError as error:
            yield RunRow(log.parent, None, str(error))


def _resolved(started: RunStarted) -> dict[str, JSON]:
    return started.config.get("resolved", {})


def _finished(path: Path) -> bool:
    return any(isinstance(event.body, Finished) for event in Journal.read(path))
