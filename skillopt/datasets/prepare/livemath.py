"""LiveMathematicianBench: monthly files in which the right option stands apart from the list of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from skillopt.datasets.prepare.material import Material
from skillopt.datasets.prepare.reading import lacking, text, texts
from skillopt.datasets.prepare.recipe import Entry, HubPlace, Recipe
from skillopt.datasets.sources import Row
from skillopt.types import JSON

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MONTHLY = "qa_*_final.json"


def _entries(material: Material) -> Iterator[Entry]:
    for row, path in material.rows(pattern=_MONTHLY):
        yield _entry(row, path.name)


def _entry(row: Row, file: str) -> Entry:
    month, number = text(row, "month") or file.removeprefix("qa_")[:6], text(row, "no")
    id = text(row, "id") or (f"{month}:{number}" if number else "")
    asked = cast("Row", row["mcq"]) if isinstance(row.get("mcq"), dict) else row
    choices, correct = _options(asked.get("choices"), asked.get("correct_choice"))
    made: Row = {
        "id": id,
        "month": month,
        "no": row.get("no"),
        "paper_link": text(row, "paper_link"),
        "theorem": text(row, "theorem"),
        "sketch": text(row, "sketch"),
        "theorem_type": texts(row.get("theorem_type")),
        "question": text(asked, "question"),
        "choices": choices,
        "correct_choice": correct,
        "source_file": file,
    }
    return Entry(id, made, lacks=lacking(made, "id", "question", "choices", "correct_choice"))


def _options(choices: JSON, correct: JSON) -> tuple[list[Row], Row | None]:
    """All options by label, the right one among them; None when it cannot be told which is right."""
    found = dict(_option(one, _LABELS[i % 26]) for i, one in enumerate(_listed(choices)))
    label, said = _option(correct, "") if isinstance(correct, dict) else (_label(correct), "")
    said = said or found.get(label, "")
    if not label or not said:
        return _rows(found), None
    return _rows({label: said, **found} if label not in found else found), {"label": label, "text": said}


def _listed(choices: JSON) -> list[JSON]:
    if isinstance(choices, dict):
        return [{"label": label, "text": said} for label, said in cast("Row", choices).items()]
    return cast("list[JSON]", choices) if isinstance(choices, list) else []


def _option(value: JSON, label: str) -> tuple[str, str]:
    if not isinstance(value, dict):
        return label, str(value).strip()
    row = cast("Row", value)
    return _label(row.get("label")) or label, text(row, "text", "content")


def _label(value: JSON) -> str:
    return str(value or "").strip().rstrip(".):").upper()


def _rows(options: dict[str, str]) -> list[Row]:
    return [{"label": label, "text": said} for label, said in sorted(options.items())]


LIVEMATH = Recipe(
    "livemathematicianbench",
    _entries,
    licence="No licence is stated where LiveMathematicianBench is published.",
    by_hand="download data/<month>/qa_<month>_final.json from github.com/LiveMathematicianBench/"
    "LiveMathematicianBench.github.io and give the data folder as SOURCE.",
    hub=HubPlace("LiveMathematicianBench/LiveMathematicianBench", patterns=("data/*/qa_*_final.json",)),
)
