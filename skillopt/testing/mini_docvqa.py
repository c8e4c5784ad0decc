"""A miniature DocVQA: invented invoices, stock lists and letters drawn as pages, with questions and answers.

Pages carry their own text as PNG metadata, which no vision model sees, so that a scripted model can read them without
OCR (`transcript`). Drawing needs Pillow: `pip install "skillopt[images]"`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from random import Random

from skillopt.datasets.splits import NAMES

COLUMNS: tuple[str, ...] = ("questionId", "docId", "question", "answer", "image_path", "topic", "source_split")
_TRANSCRIPT = "transcript"
_NAMES = ("Ada Brenner", "Tomas Okafor", "Ines Valdes", "Karel Novy", "Mira Sato", "Jonas Falk")
_GOODS = ("lamp oil", "rope", "tin plates", "candles", "wax paper", "nails", "linen thread", "chalk")
_TOWNS = ("Harwick", "Millbrook", "Sandvik", "Porto Alto", "Greyhaven")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page before it is drawn: lines of cells, and what can be asked about them."""

    topic: str
    lines: tuple[tuple[str, ...], ...]
    questions: tuple[tuple[str, str], ...]


def write_docvqa(directory: Path, sizes: tuple[int, int, int] = (8, 4, 8), seed: int = 0) -> Path:
    """Write `images/` and `<split>/docvqa.csv` with so many questions; the directory is the `split_dir`.

    Two questions share a page, always within one split. The same seed gives the same questions and pages.
    """
    random, number = Random(seed), 0
    (directory / "images").mkdir(parents=True, exist_ok=True)
    for split, size in zip(NAMES, sizes, strict=True):
        rows: list[dict[str, str]] = []
        while len(rows) < size:
            number += 1
            rows += _rows(_sheet(number, random), number, split, directory)
        (directory / split).mkdir(exist_ok=True)
        with (directory / split / "docvqa.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(rows[:size])
    return directory


def transcript(png: bytes) -> str:
    """The text of a page drawn here: a line for each line, cells parted by ` | `; "" for any other PNG."""
    from PIL import Image

    with Image.open(BytesIO(png)) as page:
        return str(page.info.get(_TRANSCRIPT, ""))


def draw(lines: tuple[tuple[str, ...], ...], path: Path) -> None:
    """Plain black text on a white page, cells in columns."""
    from PIL import Image, ImageDraw, ImageFont
    from PIL.PngImagePlugin import PngInfo

    font = ImageFont.load_default(22)
    page = Image.new("L", (720, 80 + 44 * len(lines)), "white")
    pen = ImageDraw.Draw(page)
    for row, cells in enumerate(lines):
        for column, cell in enumerate(cells):
            pen.text((40 + 220 * column, 40 + 44 * row), cell, fill="black", font=font)
    told = PngInfo()
    told.add_itxt(_TRANSCRIPT, "\n".join(" | ".join(cells) for cells in lines))
    page.save(path, "PNG", pnginfo=told)


def _rows(sheet: Sheet, number: int, split: str, directory: Path) -> Iterator[dict[str, str]]:
    image = f"images/page_{number:03d}.png"
    draw(sheet.lines, directory / image)
    for index, (question, answer) in enumerate(sheet.questions):
        values = (f"{number}{index}", str(number), question, repr([answer]), image, sheet.topic, split)
        yield dict(zip(COLUMNS, values, strict=True))


def _sheet(number: int, random: Random) -> Sheet:
    return (_invoice, _stock_list, _letter)[number % 3](number, random)


def _invoice(number: int, random: Random) -> Sheet:
    """The amount is asked for without its currency: a habit that a skill can teach."""
    amount = f"{random.randrange(100, 9000):,}.{random.randrange(100):02d}"
    code = f"R-{number:03d}-{random.randrange(1000):03d}"
    lines = (
        ("INVOICE",),
        ("Invoice no.", code),
        ("Customer", random.choice(_NAMES)),
        ("Issued", _date(random)),
        ("Due", _date(random)),
        ("Total due", f"EUR {amount}"),
    )
    return Sheet("form", lines, (("What is the total due?", amount), ("What is the invoice number?", code)))


def _stock_list(number: int, random: Random) -> Sheet:
    goods = random.sample(_GOODS, 4)
    rows = [
        (name, f"{random.choice('ABCD')}{random.randrange(1, 40)}", str(random.randrange(2, 900))) for name in goods
    ]
    first, second = random.sample(rows, 2)
    asked = (f"What is the count of {first[0]}?", first[2]), (f"Which shelf holds {second[0]}?", second[1])
    lines = (f"STOCK LIST No. {number}",), ("Item", "Shelf", "Count"), *rows
    return Sheet("table/list", lines, asked)


def _letter(number: int, random: Random) -> Sheet:
    sender, receiver = random.sample(_NAMES, 2)
    town, date = random.choice(_TOWNS), _date(random)
    lines = (
        (f"{town}, {date}",),
        (f"Dear {receiver},",),
        (f"thank you for your order no. {number:04d}.",),
        (f"It leaves {random.choice(_TOWNS)} on {_date(random)}.",),
        ("Yours truly,",),
        (sender,),
    )
    return Sheet("free_text", lines, (("Who signed the letter?", sender), ("When was the letter written?", date)))


def _date(random: Random) -> str:
    return f"{random.randrange(1, 29)}.{random.randrange(1, 13)}.19{random.randrange(60, 99)}"
