"""The files of a run directory, written from the view. They are for people and other programs; nothing reads them back.

Each file appears whole (temporary file and rename), holds relative paths only, and can be made again from the journal.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from skillopt.errors import JournalError
from skillopt.journal.events import Decided, Event, Finished, MetaSkillWritten, RolloutDone, RunStarted, SlowUpdated
from skillopt.journal.files import write_atomic
from skillopt.journal.layout import (
    BEST,
    File,
    all_files,
    baseline_files,
    config_files,
    evaluation_files,
    final_files,
    meta_files,
    slow_files,
    state_files,
    step_files,
    test_files,
)
from skillopt.journal.lock import RunLock
from skillopt.journal.scan import LOG, read_events
from skillopt.journal.view import RunView
from skillopt.types import Decision, digest

_log = logging.getLogger(__name__)

CHECKSUM = f"{LOG}.sha256"
"""The journal's own digest at the end of a run, in the form that `sha256sum -c` reads: any changed byte shows."""


def write_artifacts(view: RunView, run_dir: Path) -> None:
    """Write every file."""
    _write(run_dir, all_files(view))
    if view.finished is not None and not (run_dir / CHECKSUM).exists():
        _seal(run_dir)


def update_artifacts(view: RunView, run_dir: Path, event: Event) -> None:
    """Write what this event, already folded into the view, has changed. Rollouts, most of all events, change none."""
    if not isinstance(event.body, RolloutDone):
        _write(run_dir, _changed(view, event))
    if view.finished is not None:
        _seal(run_dir)


def write_evaluation(view: RunView, run_dir: Path, *, skill: Path, split: str) -> None:
    """`results.jsonl` and `eval_summary.json` of an evaluation without training."""
    _write(run_dir, evaluation_files(view, skill=str(skill.absolute()), split=split))


def check_unedited(view: RunView, run_dir: Path) -> None:
    """Refuse to overwrite a best skill that somebody has edited by hand."""
    found = _edited(view, run_dir)
    if found is not None:
        path = run_dir / BEST
        raise JournalError(
            f"{path} was edited by hand: its text (digest {digest(found)}) is none that this run ever had as best. The"
            " journal's version is kept and your text has not been touched. To train from your text, copy it elsewhere"
            " and start a new run with env.skill_init=<the copy>. To bring this run's own text back, use"
            f" `skillopt runs rebuild {run_dir}`, which first saves yours as best_skill.edited.md."
        )


def rebuild(run_dir: Path) -> RunView:
    """Make every file again from the journal. A best skill edited by hand is saved beside first."""
    with RunLock(run_dir):
        view = RunView.of(read_events(run_dir))
        found = _edited(view, run_dir)
        if found is not None:
            aside = _free(run_dir, found)
            write_atomic(aside, found.encode(), durable=True)
            _log.warning("%s was edited by hand; the edited text is saved as %s", run_dir / BEST, aside)
        write_artifacts(view, run_dir)
        if view.finished is not None:
            _seal(run_dir)
        return view


def _changed(view: RunView, event: Event) -> Iterator[File]:
    match event.body:
        case RunStarted():
            yield from config_files(view)
        case Decided(decision=decision):
            yield from _decided(view, decision)
        case SlowUpdated(epoch=epoch):
            yield from slow_files(view, epoch)
        case MetaSkillWritten(epoch=epoch):
            yield from meta_files(view, epoch)
        case Finished():
            yield from state_files(view)
            yield from test_files(view)
        case _:
            return


def _decided(view: RunView, decision: Decision) -> Iterator[File]:
    """The place's own files first, then the state that its decision led to."""
    at = decision.at
    if "/candidate" in at:
        # One of several in a step, and not the one kept: its record in the journal is all there is to it.
        return
    if (step := view.step(at)) is not None:
        yield from step_files(view, step)
    elif at == "baseline":
        yield from baseline_files(view)
    elif at.startswith("slow/e"):
        yield from slow_files(view, int(at.removeprefix("slow/e")))
    else:
        yield from final_files(view)
    yield from state_files(view)


def _write(run_dir: Path, files: Iterable[File]) -> None:
    for file in files:
        # An empty file after a power cut would look like an edit by hand, so the best skill waits for the disk.
        write_atomic(run_dir / file.path, file.text.encode(errors="replace"), durable=file.path == BEST)


def _seal(run_dir: Path) -> None:
    """Derived like every file, so `rebuild` makes it anew: it tells of a change, not who made it."""
    if (run_dir / LOG).is_file():
        found = hashlib.sha256((run_dir / LOG).read_bytes()).hexdigest()
        write_atomic(run_dir / CHECKSUM, f"{found}  {LOG}\n".encode())


def _edited(view: RunView, run_dir: Path) -> str | None:
    """The text of a best skill that the journal never had."""
    path = run_dir / BEST
    if not path.is_file():
        return None
    text = path.read_bytes().decode(errors="replace")
    return None if digest(text) in view.best_digests else text


def _free(run_dir: Path, text: str) -> Path:
    """`best_skill.edited.md`, or a numbered name when that holds another text."""
    number, path = 2, run_dir / "best_skill.edited.md"
    while path.exists() and path.read_bytes() != text.encode():
        number, path = number + 1, run_dir / f"best_skill.edited-{number}.md"
    return path
