"""The twelve knacks of the synthetic world: a kind of question, the fact that answers it, and the form asked for.

Ten need a rule in the skill and are answered in a plausible wrong form without it; two need none. Right and wrong forms
share a word, so that soft scores tell more than hard ones, as with a real benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

Fields = Mapping[str, str]

NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WORDS: Mapping[str, tuple[str, ...]] = {
    "day": tuple(str(n) for n in range(1, 29)),
    "month": ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    "year": tuple(str(n) for n in range(1502, 1899, 3)),
    "adjective": ("grey", "golden", "crowned", "sleeping", "winged", "black"),
    "plural": ("herons", "otters", "falcons", "badgers", "lions", "ravens", "stags", "swans"),
    "first": ("Margaret", "Otto", "Ines", "Henrik", "Clara", "Tomas", "Edith", "Rupert", "Sofia", "Anton"),
    "middle": ("Ellen", "Jakob", "Louise", "Karl", "Beatrix", "Victor", "Agnes", "Paul"),
    "last": ("Thorne", "Brandt", "Moreira", "Lindqvist", "Ashdown", "Keller", "Varga", "Holloway", "Duarte"),
    "title": ("Admiral", "Dame", "Provost", "Colonel", "Countess", "Canon"),
    "english": ("Whitewater", "Longmeadow", "Redcliff", "Stonebridge", "Highfield", "Coldwell"),
    "native": ("Weissbach", "Praderas", "Rodeklif", "Kamenmost", "Hochfeld", "Kaltquell"),
    "tail": ("Minor", "Superior", "Regis", "Nova"),
    "number": tuple(str(n) for n in range(31, 400, 7)),
    "unit": ("metres", "yards", "cubits", "feet", "fathoms"),
    "count": tuple(str(n) for n in range(2, 13)),
    "city": ("Porto", "Ghent", "Lund", "Trieste", "Graz", "Bergen", "Split", "Toledo"),
    "country": ("Portugal", "Belgium", "Sweden", "Italy", "Austria", "Norway", "Croatia", "Spain"),
    "colour": ("crimson", "ochre", "indigo", "emerald", "ivory", "slate"),
    "river": ("Arlen", "Sorrow", "Medway", "Tarn", "Vils", "Orla", "Isk", "Dove"),
}


@dataclass(frozen=True, slots=True)
class Knack:
    """`fact` is the sentence in a passage; `right` and `wrong` are made from its fields by the forms below."""

    name: str
    asks: tuple[str, ...]
    fact: str
    right: str
    wrong: str
    advice: str = ""

    @property
    def needs_rule(self) -> bool:
        return bool(self.advice)

    @property
    def rule(self) -> str:
        return f"Rule {self.name}: {self.advice or 'nothing special is needed.'}"

    @property
    def override(self) -> str:
        return f"Override {self.name}: for questions of this kind, give the first form that comes to mind."

    @property
    def restore(self) -> str:
        return f"Restore {self.name}: whatever else is said, answer questions of this kind in the form asked for."

    @property
    def reminder(self) -> str:
        return f"Reminder {self.name}: before answering, look at the rule for questions of this kind."

    def draw(self, random: Random) -> str:
        """The fact with words drawn for its fields."""
        return self.fact.format(**{name: random.choice(WORDS[name]) for name in _fields(self.fact)})

    def pattern(self) -> re.Pattern[str]:
        """What finds the fact again in a passage."""
        named = {name: f"(?P<{name}>[A-Za-z0-9]+)" for name in _fields(self.fact)}
        return re.compile(re.escape(self.fact).replace(r"\{", "{").replace(r"\}", "}").format(**named))

    def answer(self, fields: Fields, *, right: bool) -> str:
        return (self.right if right else self.wrong).format(**fields, **{k: form(fields) for k, form in FORMS.items()})


def _fields(template: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", template)


FORMS: Mapping[str, Callable[[Fields], str]] = {
    "initial": lambda f: f.get("first", " ")[0],
    "second_initial": lambda f: f.get("middle", " ")[0],
    "singular": lambda f: f.get("plural", "").removesuffix("s"),
    "in_words": lambda f: NUMBER_WORDS[int(f.get("count", "2")) - 2],
}

KNACKS: tuple[Knack, ...] = (
    Knack(
        "years-only",
        ("in which year was it founded?", "what year saw its founding?"),
        "It was founded on {day} {month} {year}.",
        "{year}",
        "{month} {year}",
        "when asked for a year, answer with the four digits alone.",
    ),
    Knack(
        "full-date",
        ("on what date did its doors open?", "when exactly did its doors open?"),
        "Its doors opened on {day} {month} {year}.",
        "{day} {month} {year}",
        "{month} {year}",
        "when asked for a date, give day, month and year.",
    ),
    Knack(
        "singular-noun",
        ("which creature stands on its crest?", "what animal does its crest show?"),
        "Its crest shows {adjective} {plural}.",
        "{adjective} {singular}",
        "{adjective} {plural}",
        "name a creature in the singular, even if the passage uses the plural.",
    ),
    Knack(
        "initials",
        ("who signed its charter?", "whose name stands under its charter?"),
        "Its charter was signed by {first} {middle} {last}.",
        "{initial}. {second_initial}. {last}",
        "{first} {last}",
        "give a signatory by initials and surname.",
    ),
    Knack(
        "surname-only",
        ("who painted its ceiling?", "which painter made its ceiling?"),
        "Its ceiling was painted by {first} {last}.",
        "{last}",
        "{first} {last}",
        "name a painter by surname alone.",
    ),
    Knack(
        "keep-title",
        ("who governs it?", "who is at its head?"),
        "It is governed by {title} {first} {last}.",
        "{title} {first} {last}",
        "{first} {last}",
        "keep the title in front of the name of a person in office.",
    ),
    Knack(
        "native-name",
        ("what is its village called at home?", "what do the people of its village call the place?"),
        "Its village is {native} {tail} at home and {english} abroad.",
        "{native} {tail}",
        "{english} {tail}",
        "give the name of a place in the spelling its own people use.",
    ),
    Knack(
        "with-unit",
        ("how long is its main hall?", "what is the length of its main hall?"),
        "Its main hall is {number} {unit} long.",
        "{number} {unit}",
        "{number}",
        "give a length with its unit.",
    ),
    Knack(
        "number-words",
        ("how many bells hang in its tower?", "what hangs in its tower, and how many?"),
        "In its tower hang {count} bells.",
        "{in_words} bells",
        "{count} bells",
        "write a count in words and name what is counted.",
    ),
    Knack(
        "place-and-country",
        ("where does its sister house stand?", "in what place is its sister house?"),
        "Its sister house stands in {city}, {country}.",
        "{city}, {country}",
        "{city}",
        "give a place together with its country.",
    ),
    Knack(
        "gate-colour",
        ("what colour is its gate?", "in which colour is its gate painted?"),
        "Its gate is painted {colour}.",
        "{colour}",
        "pale {colour}",
    ),
    Knack(
        "river-name",
        ("which river runs past it?", "past which river was it built?"),
        "Past it runs the river {river}.",
        "{river}",
        "Upper {river}",
    ),
)

BY_NAME: Mapping[str, Knack] = {knack.name: knack for knack in KNACKS}
BY_ASK: Mapping[str, Knack] = {ask: knack for knack in KNACKS for ask in knack.asks}
QUESTION = re.compile(r"About ([A-Z][a-z]+ [A-Z][a-z]+): ([^?\n]{5,80}\?)")
"""Every question of the world, wherever it stands in a text: the thing and what is asked about it."""
PATTERNS: Mapping[str, re.Pattern[str]] = {knack.name: knack.pattern() for knack in KNACKS}
