"""Reports as files: written whole, and read back only for the figures they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from skillopt.claims.reporting import html, markdown
from skillopt.claims.reporting.content import Content
from skillopt.claims.verification import Check, Mismatch, compared_values
from skillopt.journal.files import write_atomic
from skillopt.types import JSON

Form = Literal["html", "md"]
NAMES = ("report.html", "report.md")


def write_report(content: Content, path: Path, form: Form) -> Path:
    text = html.page(content) if form == "html" else markdown.document(content)
    write_atomic(path, text.encode(errors="replace"))
    return path


def form_of(path: Path | None, said: str) -> Form:
    """What was said, else what the file's name says, else a page."""
    if said:
        return "md" if said == "md" else "html"
    return "md" if path is not None and path.suffix.lower() in (".md", ".markdown") else "html"


def check_reports(run_dir: Path, figures: JSON) -> Check:
    """The figures of the reports in a run directory against the same figures computed now."""
    found: list[Mismatch] = []
    files = [run_dir / name for name in NAMES if (run_dir / name).is_file()]
    for file in files:
        said = _figures(file.read_text(encoding="utf-8", errors="replace"))
        if said is None:
            found.append(Mismatch(file.name, "holds no figures that could be read"))
        else:
            found += compared_values(file.name, said, figures)
    return Check("reports", len(files), tuple(found))


def _figures(text: str) -> JSON:
    for mark, end in ((html.MARK, "</script>"), (markdown.MARK, " -->")):
        _, sign, rest = text.rpartition(mark)
        if sign:
            try:
                return json.loads(rest.partition(end)[0])
            except ValueError:
                return None
    return None
