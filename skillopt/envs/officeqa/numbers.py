"""How a written quantity is read, and when two of them are the same.

Decisions. Gold's own rounding is respected: a gold value with decimals accepts whatever rounds to it, a whole number is
exact (it may be a count or a year). A unit that only one side writes is taken from the question, so it agrees with the
value as written and with the value in full: "507 million" is 507 and 507,000,000. Where both sides write one, they must
agree: 507 billion is never 507 million, and 12 % is 12 but not 12 million. 12 % is not 0.12: questions name the form.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction

_LONGEST = 80
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
_DECORATION = str.maketrans("", "", "*`\\\u200b\ufeff")
_CURRENCIES = (
    ("dollar", re.compile(r"us\$|\$|(?:\b(?:of|nominal|current|constant|us|u\.s\.)\s+)*\b(?:dollars?|usd)\b")),
    ("euro", re.compile(r"€|(?:\bof\s+)?\b(?:euros?|eur)\b")),
    ("pound", re.compile(r"£|(?:\bof\s+)?\b(?:pounds?(?: sterling)?|gbp)\b")),
    ("yen", re.compile(r"¥|(?:\bof\s+)?\b(?:yen|jpy)\b")),
)
_FACTORS = (("k", "thousand"), ("m", "million"), ("b", "billion"), ("t", "trillion"))
_LETTERS = {letter: 1000**power for power, (letter, _) in enumerate(_FACTORS, start=1)}
_WORDS = {word: 1000**power for power, (_, word) in enumerate(_FACTORS, start=1)} | {"mn": 10**6, "bn": 10**9}
_ACCOUNTING = re.compile(r"\((?P<inside>[^()]+)\)(?P<rest>[^()]*)")
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?) ?"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<power>e[+-]?[0-9]{1,2})?"
    r"(?P<letter>[kmbt])?"
    r" ?(?P<word>(?:thousand|million|billion|trillion)s?|mn|bn)?"
    r" ?(?P<percent>%|percent|per cent|percentage points?|pct)?"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """`value` is the number as written; `factor` is what a word such as million adds; `unit` is % or a currency."""

    value: Fraction
    places: int = 0
    factor: int = 1
    unit: str = ""

    @property
    def full(self) -> Fraction:
        return self.value * self.factor

    @property
    def slack(self) -> Fraction:
        """Half a unit of the last decimal place, for numbers that state one."""
        return Fraction(1, 2 * 10**self.places) if self.places > 0 else Fraction(0)


def tidy(text: str) -> str:
    """One spelling of spaces, dashes, digits and case; Markdown marks, quotes and a final full stop go."""
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES).translate(_DECORATION).casefold()
    return " ".join(plain.split()).strip("\"'“”‘’ ").removesuffix(".").strip()


def quantity(text: str) -> Quantity | None:
    """The text as one quantity; None if it is anything else, such as a date, a range or a sentence."""
    if len(text) > _LONGEST:
        return None
    return _read(*_without_currency(tidy(text)))


def agree(said: Quantity, gold: Quantity, tolerance: float = 0.0) -> bool:
    """Whether two quantities are the same, within gold's rounding or the relative tolerance."""
    if not _units_agree(said, gold):
        return False
    if _near(said.full, gold.full, gold.slack * gold.factor, tolerance):
        return True
    one_sided = (said.factor == 1) != (gold.factor == 1)
    return one_sided and _near(said.value, gold.value, gold.slack, tolerance)


def difference(said: Quantity, gold: Quantity) -> str:
    """What separates two quantities, where it has a name; for analysts."""
    if not _units_agree(said, gold):
        return "another unit"
    if said.value == -gold.value or said.full == -gold.full:
        return "the sign is wrong"
    if not said.full or not gold.full:
        return ""
    ratio = abs(said.full / gold.full)
    for power in (100, 1000, 10**6, 10**9):
        if any(abs(ratio / size - 1) < Fraction(1, 1000) for size in (Fraction(power), Fraction(1, power))):
            return f"off by a factor of {power:,}"
    return "within 1 % of the expected value" if abs(said.full / gold.full - 1) <= Fraction(1, 100) else ""


def _units_agree(said: Quantity, gold: Quantity) -> bool:
    if said.unit and gold.unit and said.unit != gold.unit:
        return False
    share, other = (said, gold) if said.unit == "%" else (gold, said)
    return share.unit != "%" or other.unit == "%" or (not other.unit and other.factor == 1)


def _near(said: Fraction, gold: Fraction, slack: Fraction, tolerance: float) -> bool:
    return abs(said - gold) <= max(slack, Fraction(str(tolerance)) * abs(gold))


def _without_currency(text: str) -> tuple[str, str]:
    for name, sign in _CURRENCIES:
        kept, count = sign.subn(" ", text)
        if count:
            # A sign between minus and number leaves a gap that means nothing.
            return re.sub(r"\( | \)", lambda m: m[0].strip(), " ".join(kept.split())), name
    return text, ""


def _read(text: str, currency: str) -> Quantity | None:
    if found := _ACCOUNTING.fullmatch(text):
        inside = _read((found["inside"].strip() + found["rest"]).strip(), currency)
        positive = inside is not None and found["inside"].strip()[0] not in "+-"
        return replace(inside, value=-inside.value) if inside and positive else None
    found = _QUANTITY.fullmatch(text)
    if not found or not (found["whole"] or found["part"]):
        return None
    scale = found["word"] or found["letter"]
    if (found["letter"] and found["word"]) or (found["percent"] and (scale or currency)):
        return None
    whole, part, power = found["whole"].replace(",", "") or "0", found["part"] or "", int((found["power"] or "e0")[1:])
    value = Fraction(f"{found['sign']}{whole}.{part or 0}") * Fraction(10) ** power
    factor = _WORDS.get((found["word"] or "").removesuffix("s")) or _LETTERS.get(found["letter"] or "") or 1
    return Quantity(value, max(0, len(part) - power), factor, "%" if found["percent"] else currency)
