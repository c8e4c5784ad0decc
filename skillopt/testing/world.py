"""A small synthetic world in which training works: items, a target that follows rules, an optimizer that finds them.

Everything is a pure function of the seed and the text of a request, noise included, so that a run can be repeated,
interrupted and compared. There is no HTTP here; `testing.server` puts the world behind a socket.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from skillopt.model.types import Request
from skillopt.testing import editors
from skillopt.testing.chance import chance
from skillopt.testing.knacks import BY_ASK, BY_NAME, KNACKS, PATTERNS, QUESTION, Knack
from skillopt.testing.names import SPACE, entity
from skillopt.testing.wire_formats import Asked, Said
from skillopt.types import JSON

_MARK = re.compile(r"\b(Rule|Override|Restore|Reminder) ([a-z]+(?:-[a-z]+)*):")

_SPLITS = {"train": 0, "val": SPACE // 4, "test": SPACE // 2}
"""Where each split begins among the names, so that no two splits ask about the same thing."""

# Twenty places per round: free knacks two each (a blank skill scores 0.2), the others one or two, so that some are
# worth learning first.
_ROUND = tuple(k for k in KNACKS for _ in range(2 if not k.needs_rule or KNACKS.index(k) < 6 else 1))


@dataclass(frozen=True, slots=True)
class Reading:
    """What a system prompt says: whom it speaks to, and what it holds: rules, the overrides that undo them, the words
    that undo an override again, and reminders of a rule."""

    editor: editors.Editor | None
    rules: frozenset[str]
    overrides: frozenset[str]
    digest: str
    restored: frozenset[str] = frozenset()
    reminded: frozenset[str] = frozenset()

    @property
    def role(self) -> str:
        return self.editor.name if self.editor else "target"

    def masters(self, knack: Knack) -> bool:
        undone = knack.name in self.overrides - self.restored
        return not undone and (not knack.needs_rule or knack.name in self.rules)


class World:
    """Answers requests of every role. `noise` is the chance that the answer to one item under one skill flips.

    `lapses` is the share of items on which the target forgets a rule that it was given, unless the skill reminds it;
    `habit` names a knack whose override the failure analyst likes to propose.
    """

    def __init__(self, seed: int = 0, noise: float = 0.0, *, lapses: float = 0.0, habit: str = "") -> None:
        self.seed = seed
        self.noise = noise
        self.lapses = lapses
        self.mind = editors.Mind(seed, habit)
        self._readings: dict[str, Reading] = {}

    def __call__(self, request: Request) -> str:
        system = "\n".join(m.text for m in request.messages if m.role == "system")
        return self.reply(system, "\n".join(m.text for m in request.messages if m.role == "user"))

    def respond(self, asked: Asked) -> Said:
        """What the server sends back; a world whose target sees pictures or calls tools overrides it."""
        return Said(self.reply(asked.system, asked.user))

    def reply(self, system: str, user: str) -> str:
        reading = self.read(system)
        if reading.editor is not None:
            return json.dumps(reading.editor.answer(user, self.mind), ensure_ascii=False)
        return self._target(reading, user)

    def read(self, system: str) -> Reading:
        """A system prompt, read; remembered, because thousands of calls share one."""
        reading = self._readings.get(system)
        if reading is None:
            if len(self._readings) > 1000:
                self._readings.clear()
            reading = self._readings[system] = read_skill(system)
        return reading

    def _target(self, reading: Reading, user: str) -> str:
        found = QUESTION.search(user)
        knack = BY_ASK.get(found.group(2)) if found else None
        if found is None or knack is None:
            return "I see no question that I know. <answer>unknown</answer>"
        flips = self.noise > 0 and chance(self.seed, "noise", found.group(), reading.digest) < self.noise
        right = reading.masters(knack) and not self._forgets(reading, knack, found.group())
        return target_reply(user, found.group(1), knack, right=right != flips)

    def _forgets(self, reading: Reading, knack: Knack, question: str) -> bool:
        apt = knack.needs_rule and knack.name not in reading.reminded
        return apt and chance(self.seed, "lapse", question) < self.lapses


def read_skill(system: str) -> Reading:
    marks = {(kind, name) for kind, name in _MARK.findall(system) if name in BY_NAME}
    rules, overrides, restored, reminded = (
        frozenset(name for kind, name in marks if kind == word) for word in ("Rule", "Override", "Restore", "Reminder")
    )
    name = hashlib.sha256(system.encode()).hexdigest()[:16]
    return Reading(editors.editor(system), rules, overrides, name, restored, reminded)


def target_reply(user: str, entity: str, knack: Knack, *, right: bool) -> str:
    """Look the fact up in the entity's own passage and give it in the right or in the wrong form."""
    start = user.find(f"[TLE] {entity} [PAR]")
    end = user.find("[DOC]", start) if start >= 0 else -1
    fact = PATTERNS[knack.name].search(user, max(start, 0), end if end >= 0 else len(user)) if start >= 0 else None
    if fact is None:
        return f"No passage speaks of {entity}. <answer>unknown</answer>"
    answer = knack.answer(fact.groupdict(), right=right)
    return f"The passage on {entity} says: {fact.group()} That settles it. <answer>{answer}</answer>"


def make_items(n: int, seed: int, split: str) -> list[dict[str, JSON]]:
    """`n` rows in the shape of SearchQA. Ids differ across splits, and so do the things asked about."""
    random = Random(f"{seed}/{split}")
    order: list[Knack] = []
    while len(order) < n:
        order += random.sample(_ROUND, len(_ROUND))
    first = _SPLITS.get(split, 0)
    return [_item(order[i], entity(first + i, seed), f"{seed}/{split}/{i}", random) for i in range(n)]


def write_split(folder: Path, train: int, val: int, test: int, seed: int = 0) -> None:
    """Write `<folder>/<split>/items.json` for the three splits."""
    for split, n in zip(_SPLITS, (train, val, test), strict=True):
        place = folder / split
        place.mkdir(parents=True, exist_ok=True)
        (place / "items.json").write_text(json.dumps(make_items(n, seed, split), indent=1), "utf-8")


def all_rules() -> str:
    """A skill that knows everything the world asks for."""
    return "# Rules\n\n" + "\n".join(f"- {knack.rule}" for knack in KNACKS if knack.needs_rule) + "\n"


def _item(knack: Knack, name: str, key: str, random: Random) -> dict[str, JSON]:
    fact = knack.draw(random)
    others = random.sample([k for k in KNACKS if k is not knack], 4)
    about = random.sample([fact, *(k.draw(random) for k in others)], 5)
    rival = entity(random.randrange(SPACE), 0)
    while rival == name:
        rival = entity(random.randrange(SPACE), 0)
    rivals = [knack.draw(random), *(k.draw(random) for k in others[:2])]
    passages = random.sample([_passage(name, about), _passage(rival, rivals), _filler(random)], 3)
    fields: Mapping[str, str] = _fields(knack, fact)
    return {
        "id": hashlib.md5(key.encode(), usedforsecurity=False).hexdigest(),
        "question": f"About {name}: {random.choice(knack.asks)}",
        "context": " ".join(passages),
        "answers": [knack.answer(fields, right=True)],
    }


def _fields(knack: Knack, fact: str) -> Mapping[str, str]:
    match = PATTERNS[knack.name].search(fact)
    if match is None:
        raise AssertionError(f"the fact {fact!r} is not found by its own pattern")
    return match.groupdict()


def _passage(name: str, facts: list[str]) -> str:
    return f"[DOC] [TLE] {name} [PAR] {name} appears in many guide books. {' '.join(facts)}"


def _filler(random: Random) -> str:
    topics = random.sample(["opening hours", "guided walks", "the old orchard", "local bread", "winter fairs"], 2)
    return f"[DOC] [TLE] Notes for visitors [PAR] Readers write to us about {topics[0]} and about {topics[1]}."
