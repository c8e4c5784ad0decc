"""Every reported number computed again from the journal, offline, and compared with what was reported.

Three things are compared: the journal with itself (decisions with the rollouts they rest on, tallies with scores), the
files with the journal, and the journal's bytes with the checksum that the end of the run left.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from skillopt.claims.ledger import TEST, Judged, Ledger
from skillopt.claims.replay import Policies, again, tally_of
from skillopt.errors import JournalError
from skillopt.journal.artifacts import CHECKSUM
from skillopt.journal.layout import File, all_files, evaluation_files
from skillopt.journal.scan import LOG, index
from skillopt.skill.document import Skill
from skillopt.types import JSON, Decision, Patch, Tally

_CLOSE = 1e-9
_SHOWN = 60
_PLAIN_OPS = frozenset({"append", "insert_after", "replace", "delete"})


@dataclass(frozen=True, slots=True)
class Mismatch:
    """`said` is what is on record or in a file, `found` what the evidence gives."""

    where: str
    what: str
    said: JSON = None
    found: JSON = None

    def __str__(self) -> str:
        if self.said is None and self.found is None:
            return f"{self.where}: {self.what}"
        return f"{self.where}: {self.what}: recorded {_short(self.said)}, computed {_short(self.found)}"


@dataclass(frozen=True, slots=True)
class Check:
    """One group of comparisons; `notes` are things that could not be compared, and why."""

    name: str
    compared: int
    mismatches: tuple[Mismatch, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    checks: tuple[Check, ...]

    @property
    def sound(self) -> bool:
        return not self.mismatches

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        return tuple(mismatch for check in self.checks for mismatch in check.mismatches)

    def to_dict(self) -> dict[str, JSON]:
        return {"ok": self.sound, "checks": [asdict(check) for check in self.checks]}


def verify(
    run_dir: Path,
    policies: Callable[[Ledger], Policies],
    extra: Callable[[Ledger], Sequence[Check]] = lambda _: (),
) -> Verified:
    """Check one run directory. A journal that cannot be read is a mismatch like any other."""
    try:
        index(run_dir / LOG)
        ledger = Ledger.read(run_dir)
    except JournalError as error:
        if not (run_dir / LOG).is_file():
            raise
        said = str(error).replace(f"{run_dir}/", "")
        return Verified((Check("journal", 1, (Mismatch(LOG, said),)),))
    checks = (
        _checksum(run_dir, ledger),
        _keys(ledger),
        _decisions(ledger, policies(ledger)),
        _documents(ledger),
        training(ledger),
        _finish(ledger),
        _files(run_dir, ledger),
        *extra(ledger),
    )
    return Verified(checks)


def compared_values(where: str, said: JSON, found: JSON) -> Iterator[Mismatch]:
    """The paths at which two JSON values differ; numbers may differ by rounding."""
    if isinstance(said, Mapping) and isinstance(found, Mapping):
        for key in dict.fromkeys((*found, *said)):
            yield from compared_values(f"{where}: {key}", said.get(key), found.get(key))
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for place, (one, two) in enumerate(zip(said, found, strict=True)):
            yield from compared_values(f"{where}[{place}]", one, two)
    elif not _same(said, found):
        yield Mismatch(where, "differs", said, found)


def _checksum(run_dir: Path, ledger: Ledger) -> Check:
    path = run_dir / CHECKSUM
    if not path.is_file():
        why = "the run has not finished" if ledger.view.finished is None else f"there is no {CHECKSUM}"
        return Check("checksum", 0, (), (f"the journal's bytes have nothing to be compared with: {why}",))
    said = path.read_text(encoding="utf-8").split()[:1]
    found = hashlib.sha256((run_dir / LOG).read_bytes()).hexdigest()
    bad = () if said == [found] else (Mismatch(LOG, "its bytes are not those that the run ended with"),)
    return Check("checksum", 1, bad)


def _keys(ledger: Ledger) -> Check:
    """Rollouts are named by their content, one item has one digest, and scores lie where scores can."""
    found: list[Mismatch] = []
    digests: dict[str, str] = {}
    for row in ledger.rows:
        r, where = row.rollout, f"event {row.seq}"
        wanted = f"rollout/{r.skill}/{r.item_digest}/{r.draw}"
        if row.key != wanted:
            found.append(Mismatch(where, "its key is not that of its content", row.key, wanted))
        if digests.setdefault(r.item, r.item_digest) != r.item_digest:
            found.append(Mismatch(where, f"item {r.item}: another content", r.item_digest, digests[r.item]))
        if r.score is not None and not (0 <= r.score.hard <= 1 and 0 <= r.score.soft <= 1):
            found.append(Mismatch(where, f"item {r.item}: a score outside 0 to 1", [r.score.hard, r.score.soft]))
    return Check("rollouts", len(ledger.rows), tuple(found))


def _decisions(ledger: Ledger, policies: Policies) -> Check:
    found: list[Mismatch] = []
    count, unasked = 0, 0
    for judged in ledger.judged:
        decision = judged.decision
        if decision.tally is None:
            continue
        count += 1
        replayed = again(ledger, judged, policies)
        if replayed is None:
            unasked += decision.at != "final"
            found += _by_hand(ledger, judged)
        else:
            found += _differing(decision, replayed)
    notes = (f"{unasked} decisions were checked without their policy",) if unasked else ()
    return Check("decisions", count, tuple(found), notes)


def _differing(said: Decision, found: Decision) -> Iterator[Mismatch]:
    where = f"decision {said.at}"
    # The reason is prose, which a later version may word otherwise; all that it rests on is compared.
    for name in ("action", "objective", "bar", "gained", "broken"):
        one, two = asdict(said)[name], asdict(found)[name]
        if name in ("gained", "broken"):
            one, two = sorted(one), sorted(two)
        yield from compared_values(f"{where}: {name}", one, two)
    yield from compared_values(f"{where}: tally", asdict(said)["tally"], asdict(found)["tally"])


def _by_hand(ledger: Ledger, judged: Judged) -> Iterator[Mismatch]:
    """Tally and objective without a policy: the final validation, and gates that cannot be built here."""
    decision, where = judged.decision, f"decision {judged.decision.at}"
    tally = tally_of(ledger, judged)
    yield from compared_values(f"{where}: tally", asdict(decision)["tally"], asdict(tally))
    objective = ledger.objective.of(tally, Skill.parse(decision.candidate))
    yield from compared_values(f"{where}: objective", decision.objective, objective)
    if decision.at == "final":
        best = judged.state.best_score
        better = objective is not None and best is not None and objective > best
        yield from compared_values(f"{where}: action", decision.action, "promote" if better else "final")


def training(ledger: Ledger) -> Check:
    """What the optimizer was told: attempts and failures of each step, and the comparisons at epoch ends."""
    found: list[Mismatch] = []
    count = 0
    for step in ledger.view.steps:
        memory = step.decision.memory if step.decision else None
        if memory is None:
            continue
        count += 1
        scored = [r.score for r in step.rollouts if r.score is not None]
        failed = sum(not score.passed for score in scored)
        said = {"total": memory.total, "failed": memory.failed}
        found += compared_values(f"memory of {step.at}", said, {"total": len(scored), "failed": failed})
    for epoch, body in ledger.view.slow_updates.items():
        at = f"slow/e{epoch:02d}"
        rows = [row for row in ledger.rows if row.at == at and row.stage == "slow"]
        sides = {(r.rollout.item, r.rollout.skill == r.state.current.digest): r.rollout.score for r in rows}
        for pair in body.all_pairs or body.pairs:
            count += 1
            for name, now in (("prev", False), ("curr", True)):
                score, said = sides.get((pair.id, now)), pair.prev if name == "prev" else pair.curr
                wanted = {"hard": int(score.passed), "soft": score.soft} if score else None
                shown = {"hard": said.get("hard"), "soft": said.get("soft")}
                found += compared_values(f"{at}: item {pair.id}: {name}", shown, wanted)
    return Check("training", count, tuple(found))


def _documents(ledger: Ledger) -> Check:
    """A candidate is its parent with its edits applied; a rewritten one cannot be made again without the model."""
    found: list[Mismatch] = []
    count = 0
    for judged in ledger.judged:
        decision = judged.decision
        plain = {edit.op for edit in decision.patch.edits} <= _PLAIN_OPS and not decision.patch.notes
        if not decision.patch.edits or not plain or len(decision.reports) != len(decision.patch.edits):
            continue
        parent = next((s for s in (judged.state.current, judged.state.best) if s.digest == decision.parent), None)
        if parent is None or parent.has_region("appendix"):
            continue
        count += 1
        made = parent.apply(Patch(decision.patch.edits)).skill.text
        if made != decision.candidate:
            found.append(Mismatch(f"decision {decision.at}", "its edits do not lead from its parent to its candidate"))
    return Check("documents", count, tuple(found))


def _finish(ledger: Ledger) -> Check:
    done, state = ledger.view.finished, ledger.view.state
    if done is None or state is None:
        return Check("test", 0, (), ("the run has not finished",))
    drawn = ledger.drawn(TEST if ledger.view.kind == "train" else "eval")
    said = {"best": (done.best_test, state.best.digest)}
    if ledger.view.kind == "train":
        said |= {"seed": (done.baseline_test, ledger.seed.digest), "final": (done.final_test, state.current.digest)}
    found: list[Mismatch] = []
    for name, (tally, skill) in said.items():
        if tally is not None:
            computed = Tally.of(drawn.get(skill, {}).values())
            found += compared_values(f"test of the {name} skill", asdict(tally), asdict(computed))
    return Check("test", len(said), tuple(found))


def _files(run_dir: Path, ledger: Ledger) -> Check:
    found: list[Mismatch] = []
    files = list(_wanted(ledger))
    for file in files:
        path = run_dir / file.path
        if not path.is_file():
            found.append(Mismatch(file.path, "is missing; `skillopt runs rebuild` writes it anew"))
        elif (text := path.read_bytes().decode(errors="replace")) != file.text:
            found += _file_mismatches(file, text)
    return Check("files", len(files), tuple(found[:_SHOWN]), _left(found))


def _wanted(ledger: Ledger) -> Iterator[File]:
    yield from all_files(ledger.view)
    if ledger.view.kind == "eval":
        yield from (f for f in evaluation_files(ledger.view, skill="", split="") if f.path == "results.jsonl")


def _file_mismatches(file: File, text: str) -> Iterator[Mismatch]:
    if not file.path.endswith((".json", ".jsonl")):
        yield Mismatch(file.path, "its text is not the journal's")
        return
    try:
        said, found = _parsed(file.path, text), _parsed(file.path, file.text)
    except ValueError:
        yield Mismatch(file.path, "is not JSON")
        return
    yield from compared_values(file.path, said, found)


def _parsed(path: str, text: str) -> JSON:
    return [json.loads(line) for line in text.splitlines()] if path.endswith(".jsonl") else json.loads(text)


def _left(found: Sequence[Mismatch]) -> tuple[str, ...]:
    return (f"{len(found) - _SHOWN} more mismatches are not listed",) if len(found) > _SHOWN else ()


def _same(one: JSON, two: JSON) -> bool:
    if isinstance(one, (int, float)) and isinstance(two, (int, float)) and not isinstance(one, bool):
        return abs(one - two) <= _CLOSE * max(1.0, abs(one), abs(two))
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        return list(one) == list(two)
    return one == two


def _short(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else f"{text[:116]} ..."
