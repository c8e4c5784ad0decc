"""`Skill`: the document in training, taken apart into front matter, body and protected regions.

The parts are separate fields, so protection needs no searching: an edit is given the body and nothing else. `text` puts
the parts together; a text without markers comes back byte for byte, and any text is stable after one round trip.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.errors import SkillFileError
from skillopt.skill.edits import Page, apply_edit, report
from skillopt.skill.package import split_front_matter
from skillopt.skill.regions import Region as Region
from skillopt.skill.regions import RegionName, cleaned, in_order, part, without_forged_regions
from skillopt.types import EditReport, Patch, digest

APPENDIX_HEADING = "## Execution Notes Appendix"
_BULLET = re.compile(r"^(?:-\s*|\*\s+)")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill document. `front` is the author's YAML block, `regions` are SkillOpt's own; edits reach only `body`."""

    body: str = ""
    regions: tuple[Region, ...] = ()
    front: str = ""

    @classmethod
    def parse(cls, text: str) -> Skill:
        """Take a document apart; see `regions.part` for what happens to orphan, nested and doubled markers."""
        parted = part(text)
        packaged = split_front_matter(parted.outside)
        front = packaged.front.raw if packaged.front else ""
        if parted.regions:
            return cls(_ended(packaged.body), parted.regions, _ended(front))
        return cls(packaged.body, (), front)

    @classmethod
    def load(cls, path: Path) -> Skill:
        """Read a skill file, or the `SKILL.md` of a directory. An empty file is a blank skill."""
        file = path / "SKILL.md" if path.is_dir() else path
        if not file.is_file():
            raise SkillFileError(_missing(path))
        try:
            return cls.parse(file.read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise SkillFileError(
                f"The skill file {file} is not UTF-8 text (byte {error.start}). Save it as UTF-8 and start again."
            ) from error
        except OSError as error:
            raise SkillFileError(f"The skill file {file} cannot be read: {error.strerror}.") from error

    @property
    def text(self) -> str:
        """The whole document: front matter, body, appendix, and slow update last."""
        head = self._head
        if not self.regions:
            return head
        blocks = "\n\n".join(r.block for r in in_order(self.regions))
        return f"{head.rstrip()}\n\n{blocks}\n" if head.strip() else f"{blocks}\n"

    @property
    def _head(self) -> str:
        split = self.front and self.body and not self.front.endswith("\n")
        return f"{self.front}\n{self.body}" if split else self.front + self.body

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def without_front(self) -> Skill:
        """The document as it stands inside another one."""
        return replace(self, front="")

    def has_region(self, name: RegionName) -> bool:
        return any(r.name == name for r in self.regions)

    def region(self, name: RegionName) -> str:
        """The text of a region; "" when it is empty or absent."""
        return next((r.text for r in self.regions if r.name == name), "")

    def with_region(self, name: RegionName, text: str) -> Skill:
        """Set a region. Markers in the text are removed; "" keeps an empty region in place."""
        others = (r for r in self.regions if r.name != name)
        regions = in_order((*others, Region(name, cleaned(text))))
        return replace(self, body=_ended(self.body), front=_ended(self.front), regions=regions)

    def without_region(self, name: RegionName) -> Skill:
        return replace(self, regions=tuple(r for r in self.regions if r.name != name))

    def with_body(self, text: str) -> Skill:
        """Take a model-written document as the new body; front matter and regions stay what they were.

        Regions and front matter that the text brings along are dropped, with everything in them.
        """
        body = split_front_matter(without_forged_regions(text)).body.strip()
        return self._with_settled(f"{body}\n" if body else "")

    def apply(self, patch: Patch) -> Applied:
        """Apply the edits one after the other; each sees what the ones before it made."""
        skill = self
        reports: list[EditReport] = []
        for index, edit in enumerate(patch.edits, start=1):
            edited = apply_edit(skill._page(), edit)
            reports.append(report(index, edit, edited.status))
            if edited.body != skill.body:
                skill = skill._with_settled(edited.body)
        return Applied(skill, tuple(reports))

    def _page(self) -> Page:
        readable = "\n".join((self.front, self.body, *(r.text for r in in_order(self.regions))))
        return Page(self.body, readable, bool(self.regions))

    def _with_settled(self, body: str) -> Skill:
        """Keep the blank line after front matter, and move a body that begins like front matter down a line."""
        spaced = self.body.startswith(("\n", "\r")) or not self.body.strip()
        wanted = spaced if self.front else split_front_matter(body).front is not None
        if wanted and body.strip() and not body.startswith(("\n", "\r")):
            body = f"\n{body}"
        return replace(self, body=_ended(body) if self.regions else body)


@dataclass(frozen=True, slots=True)
class Applied:
    """A document after a patch, with one report for each edit in order."""

    skill: Skill
    reports: tuple[EditReport, ...]


def appendix_notes(skill: Skill) -> tuple[str, ...]:
    """The notes of the appendix region, without heading and bullets."""
    lines = (line.strip() for line in skill.region("appendix").splitlines())
    notes = (_BULLET.sub("", line) for line in lines if line != APPENDIX_HEADING)
    return tuple(note for note in notes if note)


def with_notes(skill: Skill, notes: Iterable[str]) -> Skill:
    """Add notes to the appendix; the first spelling of a note stays. Without notes the empty block is put in place.

    To replace all notes, start from `skill.without_region("appendix")`.
    """
    kept: dict[str, str] = {}
    for note in (*appendix_notes(skill), *(_one_line(n) for n in notes)):
        if key := note.rstrip(" .;:,_-").casefold():
            kept.setdefault(" ".join(key.split()), note)
    lines = (APPENDIX_HEADING, *(f"- {note}" for note in kept.values()))
    return skill.with_region("appendix", "\n".join(lines))


def _one_line(note: str) -> str:
    return _BULLET.sub("", " ".join(cleaned(note).split()))


def _ended(part: str) -> str:
    """Before regions every part ends in exactly one newline, since `text` decides the distance."""
    return f"{part.rstrip()}\n" if part.strip() else ""


def _missing(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a directory without a SKILL.md. Name the skill file itself, or a directory that holds one."
    if not path.parent.is_dir():
        return f"The skill file {path} does not exist: there is no directory {path.parent}."
    near = difflib.get_close_matches(path.name, sorted(p.name for p in path.parent.iterdir()), n=3)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return f"The skill file {path} does not exist.{hint} Leave the setting empty to start from a blank skill."
