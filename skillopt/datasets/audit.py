"""A hard look at a split directory before money is spent on it: every finding says how bad, what, where, what to do.

It needs no benchmark and no model. What only a benchmark can say (is a row usable?) and what only statistics can say
(which gain would show?) is handed in by whoever stands above both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.datasets.findings import ORDER, Finding
from skillopt.datasets.leaks import leaks
from skillopt.datasets.overlap import SHINGLE, THRESHOLD, Text, near_pairs
from skillopt.datasets.roles import NAMING, Roles, Seen, plain, seen
from skillopt.datasets.splits import NAMES
from skillopt.types import JSON, canonical

_PLACED = re.compile(r"(train|val|test) item \d+ \(id '(.*?)'\): (.*)", re.DOTALL)
_FEW_VALIDATION = 20
_FEW_TEST = 100


@dataclass(frozen=True, slots=True)
class Audit:
    """All findings, the worst first."""

    counts: Mapping[str, int]
    findings: tuple[Finding, ...]

    def of(self, severity: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def sound(self) -> bool:
        return not self.of("error")


def audit(
    splits: Mapping[str, Sequence[Mapping[str, JSON]]],
    roles: Roles,
    *,
    lift: Callable[[int], float | None],
    problems: Sequence[str] = (),
    settings: Sequence[str] = (),
    folders: Sequence[Path] = (),
) -> Audit:
    """Look at the rows. `problems` are a benchmark's complaints about them, `settings` those about anything else.

    Files that rows name are looked for in `folders`.
    """
    rows = [seen(row, name, i, roles) for name in NAMES for i, row in enumerate(splits.get(name, ()))]
    counts = {name: len(splits.get(name, ())) for name in NAMES}
    found = [*_ids(rows), *_copies(rows)]
    flagged = {place for finding in found for where in finding.where for place in where.split(" ~ ")}
    found += [*_complaints(problems, flagged), *_near(rows), *_contradictions(rows), *_shared(rows)]
    found += [Finding("warning", "setting", what, todo="Set it before a run.") for what in settings]
    found += [*_absent(rows, folders), *leaks(rows), *_sizes(counts, lift)]
    return Audit(counts, tuple(sorted(found, key=lambda finding: ORDER.index(finding.severity))))


def _ids(rows: Sequence[Seen]) -> Iterator[Finding]:
    places: defaultdict[str, list[Seen]] = defaultdict(list)
    for row in rows:
        places[str(row.row.get("id") or "").strip()].append(row)
    if nameless := places.pop("", []):
        todo = "Give every item an id of its own."
        yield Finding("error", "no_id", f"{len(nameless)} items have no id", tuple(r.place for r in nameless), todo)
    for check, what, across in (
        ("id_in_two_splits", "ids are in more than one split", True),
        ("duplicate_id", "ids come more than once in their split", False),
    ):
        found = [same for same in places.values() if len(same) > 1 and (len({r.split for r in same}) > 1) == across]
        if found:
            where = tuple(_joined(same) for same in found)
            yield Finding(
                "error", check, f"{len(found)} {what}", where, "Make ids unique; an item belongs to one split."
            )


def _copies(rows: Sequence[Seen]) -> Iterator[Finding]:
    """Rows that differ in nothing but their name."""
    contents: defaultdict[str, list[Seen]] = defaultdict(list)
    for row in rows:
        if content := {name: value for name, value in row.row.items() if name not in NAMING}:
            contents[canonical(content)].append(row)
    groups = [same for same in contents.values() if len({row.place for row in same}) > 1]
    across = [same for same in groups if len({row.split for row in same}) > 1]
    if across:
        what = f"{len(across)} items are in more than one split under different ids"
        todo = "Remove them from all splits but one: a gain on them proves nothing."
        yield Finding("error", "copy_across_splits", what, tuple(map(_joined, across)), todo)
    if within := [same for same in groups if len({row.split for row in same}) == 1]:
        todo = "Remove the copies: they count double."
        what = f"{len(within)} items are in their split more than once"
        yield Finding("warning", "copy_in_split", what, tuple(map(_joined, within)), todo)


def _complaints(problems: Sequence[str], flagged: set[str]) -> Iterator[Finding]:
    """What the benchmark's own reading says, without what was found already; equal words are said once."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for problem in problems:
        placed = _PLACED.fullmatch(problem)
        place, what = (f"{placed[1]}:{placed[2]}", placed[3]) if placed else ("", problem)
        if place not in flagged:
            said[what].append(place)
    for what, places in said.items():
        where = tuple(place for place in places if place)
        yield Finding("error", "unusable_row", what, where, "Mend the rows; a run refuses them.")


def _near(rows: Sequence[Seen]) -> Iterator[Finding]:
    asked = [row for row in rows if row.question]
    texts = [Text(row.whole, row.split, " ".join(row.media)) for row in asked]
    found: defaultdict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for pair in near_pairs(texts):
        one, other = asked[pair.first], asked[pair.second]
        if _same(one, other):
            continue
        equal = plain(one.whole) == plain(other.whole) and bool(one.answer) and one.answer == other.answer
        found[one.split, other.split, equal].append(f"{other.place} ~ {one.place} ({pair.similarity:.2f})")
    for (one, other, equal), where in found.items():
        alike = f"word {SHINGLE}-shingles, Jaccard at least {THRESHOLD}"
        how = "equal but for case and punctuation" if equal else f"near copies ({alike})"
        yield Finding(
            "error" if equal else "warning",
            "copy_across_splits" if equal else "near_copy",
            f"{len(where)} items of {other} have {how} in {one}",
            tuple(where),
            "Keep copies in one split; otherwise a gain may be memory.",
        )


def _same(one: Seen, other: Seen) -> bool:
    """Already reported, as a copy or by its id."""
    ids = one.row.get("id") == other.row.get("id")
    rows = [{k: v for k, v in row.row.items() if k not in NAMING} for row in (one, other)]
    return ids or rows[0] == rows[1]


def _contradictions(rows: Sequence[Seen]) -> Iterator[Finding]:
    asked: defaultdict[tuple[str, str], list[Seen]] = defaultdict(list)
    for row in rows:
        if row.question and row.answer:
            asked[plain(row.whole), " ".join(row.media)].append(row)
    found = [same for same in asked.values() if len({row.answer for row in same}) > 1]
    if found:
        todo = "Decide which answer is right, or add what tells the two apart."
        what = f"{len(found)} questions come with different answers"
        yield Finding("warning", "contradiction", what, tuple(map(_joined, found)), todo)


def _shared(rows: Sequence[Seen]) -> Iterator[Finding]:
    """Files that questions of several splits are about: no copies, but not strangers either."""
    places: defaultdict[str, list[Seen]] = defaultdict(list)
    for row in rows:
        for name in row.media:
            places[name].append(row)
    found = [same for same in places.values() if len({row.split for row in same}) > 1]
    if found and any(row.question for row in rows):
        what = f"{len(found)} files are asked about in more than one split"
        todo = "Keep a file's questions together if the test should show unseen files only."
        yield Finding("note", "shared_file", what, tuple(map(_joined, found)), todo)


def _absent(rows: Sequence[Seen], folders: Sequence[Path]) -> Iterator[Finding]:
    named = [(row, name) for row in rows for name in row.media]
    gone = [row.place for row, name in named if folders and not any((folder / name).exists() for folder in folders)]
    if gone:
        what = f"{len(gone)} files that rows name are not there"
        todo = "Put them below the directory, or tell the run where they are."
        yield Finding("warning", "absent_file", what, tuple(gone), todo)


def _sizes(counts: Mapping[str, int], lift: Callable[[int], float | None]) -> Iterator[Finding]:
    for name in NAMES:
        if not counts[name]:
            yield Finding("error", "empty_split", f"{name} has no items", todo="Every split needs at least one.")
    if train := counts["train"]:
        yield Finding("note", "size", f"{_items(train, 'training')}: what a skill can be learned from")
    if val := counts["val"]:
        few = val < _FEW_VALIDATION
        todo = f"Use at least {_FEW_VALIDATION}, better 50." if few else ""
        what = f"{_items(val, 'validation')}: each is worth {100 / val:.1f} points, so the gate sees no finer step"
        yield Finding("warning" if few else "note", "size", what, todo=todo)
    if test := counts["test"]:
        gain = lift(test)
        shown = (
            f"a gain of about {100 * gain:.0f} points or more will show"
            if gain
            else "no gain at all will show for sure"
        )
        few = test < _FEW_TEST
        yield Finding(
            "warning" if few else "note",
            "size",
            f"{_items(test, 'test')}: {shown} (from 50%, with 95% confidence in 4 of 5 experiments)",
            todo="More test items show smaller gains: 93 show 20 points, 388 show 10." if few else "",
        )


def _items(count: int, kind: str) -> str:
    return f"{count} {kind} item{'' if count == 1 else 's'}"


def _joined(rows: Sequence[Seen]) -> str:
    return " ~ ".join(row.place for row in rows)
