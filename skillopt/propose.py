"""From a finished run back to the user's own file: a proposal beside it, and putting it in place with a backup.

The user's file is theirs: training never writes it, and `apply` does so only when it still is what was trained from.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.errors import SkillFileError
from skillopt.journal.files import back_up, write_atomic
from skillopt.journal.log import Journal
from skillopt.journal.runs import list_runs
from skillopt.journal.view import RunView
from skillopt.skill.document import Skill
from skillopt.types import JSON

_MARK = ".proposed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A better text for a file, and the text that it is better than."""

    original: Path
    text: str
    base: str
    run_dir: Path

    @property
    def path(self) -> Path:
        """`SKILL.proposed.md` for `SKILL.md`."""
        return self.original.with_name(f"{self.original.stem}{_MARK}{self.original.suffix}")


@dataclass(frozen=True, slots=True)
class Placed:
    """What `apply` did; `backup` is None when the file already had the text."""

    original: Path
    backup: Path | None


def proposal_of(view: RunView, run_dir: Path) -> Proposal | None:
    """What a run proposes: None when it started from no file of the user's, or found nothing better."""
    original = _original(view)
    if original is None or view.state is None or view.state.best.text == view.seed_skill:
        return None
    return Proposal(original, view.state.best.text, view.seed_skill, run_dir)


def write_proposal(proposal: Proposal) -> Path:
    """Write the proposal beside the user's file."""
    write_atomic(proposal.path, proposal.text.encode(), durable=True)
    return proposal.path


def find_proposal(where: Path | None, runs: Path = Path("outputs")) -> Proposal:
    """A run's proposal, a proposal file (edited by hand or not), or the newest one there is."""
    if where is not None and (where / "events.jsonl").is_file():
        found = proposal_of(RunView.of(Journal.read(where)), where)
        if found is None:
            raise SkillFileError(f"{where} proposes nothing: it found no better skill, or had no file to start from.")
        return found
    if where is not None and not where.is_file():
        raise SkillFileError(f"{where} is neither a run nor a proposal; `skillopt runs list` shows the runs.")
    for row in list_runs(runs) if runs.is_dir() else ():
        found = proposal_of(row.view, row.path) if row.view else None
        if found and where is None:
            return found
        if found and where and found.path.resolve() == where.resolve():
            return Proposal(found.original, _text(where), found.base, found.run_dir)
    if where is None:
        raise SkillFileError(f"there is no proposal below {runs}/; name the run: skillopt apply RUN")
    raise SkillFileError(
        f"{where}: no run below {runs}/ proposed this file, so nobody knows what it was trained from. Name the run "
        "(skillopt apply RUN), or copy the file yourself."
    )


def put_in_place(proposal: Proposal, *, to: Path | None = None) -> Placed:
    """Replace the user's file, keeping the old one as `SKILL.md.bak-<time>`; refused when it changed meanwhile."""
    original = (to or proposal.original).resolve()
    now = Skill.load(original).text
    if now == proposal.text:
        return Placed(original, None)
    if now != proposal.base:
        raise SkillFileError(
            f"{original} has changed since the run {proposal.run_dir} started from it; nothing was written. Take over "
            f"by hand what you want of {proposal.run_dir / 'best_skill.md'}, or train again from the file as it is now."
        )
    backup = back_up(original)
    write_atomic(original, proposal.text.encode(), durable=True)
    shutil.copymode(backup, original)
    if proposal.path.is_file() and _text(proposal.path) == proposal.text:
        proposal.path.unlink()
    return Placed(original, backup)


def _original(view: RunView) -> Path | None:
    """The user's file that a run of their own examples started from."""
    resolved = cast("dict[str, dict[str, JSON]]", view.config.get("resolved") or {})
    env = resolved.get("env", {})
    named = str(env.get("skill_init") or "")
    if env.get("name") != "own" or view.kind != "train" or not named:
        return None
    path = Path(named) / "SKILL.md" if Path(named).is_dir() else Path(named)
    return path if path.is_file() else None


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", errors="replace")
