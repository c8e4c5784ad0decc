"""A player of household games who searches, remembers and plans from what the prompts show, and from nothing else.

It needs the whole story in each prompt (`env.history_window` of a hundred). Given hints from known walkthroughs it
searches the likely places first. In training it plays a type of task well only when the skill holds that type's rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt.envs.alfworld.games import TYPES
from skillopt.testing.analysts import Mind
from skillopt.testing.editors import Editor
from skillopt.testing.passages import Row, budget, section
from skillopt.testing.world import Reading, World
from skillopt.types import Item

WHOLE_STORY = 100
"""An `env.history_window` that no episode outgrows."""

LESSONS: Mapping[str, str] = {
    "pick_clean_then_place_in_recep": "clean-first",
    "pick_heat_then_place_in_recep": "heat-first",
    "pick_cool_then_place_in_recep": "cool-first",
    "pick_two_obj_and_place": "two-trips",
}
"""The rule that a type of task takes; the others take none."""

_RULE = re.compile(r"\bRule ([a-z-]+):")
_STEP = re.compile(r"^Step \d+\. You saw: (.*?)\nYou did: (.*?)$", re.DOTALL | re.MULTILINE)
_NOW = re.compile(r"^Step \d+ of \d+\. You see: (.*?)\n\nCommands possible now:\n(.*)\Z", re.DOTALL | re.MULTILINE)
_TASK = re.compile(r"^(?:Task:|Your task is to:) *(.+?)\.?$", re.MULTILINE)
_LOOK = re.compile(r"(?:look at|examine the) (?P<thing>\w+) (?:under|with) the (?P<lamp>\w+)")
_TWO = re.compile(r"(?:put two|find two) (?P<thing>\w+) (?:and put them )?in (?P<place>\w+)")
_MADE = re.compile(
    r"(?:put a (?P<state>clean|hot|cool) (?P<a>\w+) in|(?P<verb>clean|heat|cool) some (?P<b>\w+) and put it in) "
    r"(?P<place>\w+)"
)
_PUT = re.compile(r"put (?:a|some) (?P<thing>\w+) (?:in|on) (?P<place>\w+)")
_APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted of which thing; `verb` is a treatment, `lamp` what it is looked at with."""

    thing: str
    place: str = ""
    verb: str = ""
    lamp: str = ""
    count: int = 1

    @property
    def kind(self) -> str:
        if self.lamp:
            return TYPES[1]
        if self.verb:
            return f"pick_{self.verb}_then_place_in_recep"
        return TYPES[5] if self.count == 2 else TYPES[0]


def goal_in(words: str) -> Goal | None:
    """A goal in the published wording; None for any other."""
    if found := _LOOK.search(words):
        return Goal(found["thing"], lamp=found["lamp"])
    if found := _TWO.search(words):
        return Goal(found["thing"], found["place"], count=2)
    if found := _MADE.search(words):
        verb = {"hot": "heat"}.get(found["state"], found["state"]) or found["verb"]
        return Goal(found["a"] or found["b"], found["place"], verb)
    if found := _PUT.search(words):
        return Goal(found["thing"], found["place"])
    return None


@dataclass(slots=True)
class Memory:
    """What a story tells: where the player is, what it holds and did to it, which places it has looked into."""

    at: str = ""
    held: str = ""
    treated: bool = False
    placed: int = 0
    seen: dict[str, str] = field(default_factory=dict[str, str])
    """What was said of each place when it was last looked at."""

    def note(self, command: str, answer: str) -> None:
        verb, _, rest = command.partition(" ")
        if verb == "go":
            self.at = rest.removeprefix("to ")
        if verb in ("go", "open") and "is closed" not in answer:
            self.seen[self.at] = answer
        if verb == "take":
            self.held, self.treated = rest.partition(" from ")[0], False
        elif verb == "move":
            self.held, self.placed = "", self.placed + 1
        elif verb in _APPLIANCES:
            self.treated = True


def next_command(words: str, past: Sequence[tuple[str, str]], commands: Sequence[str], hints: Sequence[str]) -> str:
    """The next command towards the goal, given each command so far with its answer."""
    goal, memory = goal_in(words), Memory()
    for command, answer in past:
        memory.note(command, answer)
    if goal is None:
        return "look"
    # Where one is, one cannot go to.
    reached = {memory.at, *(c.removeprefix("go to ") for c in commands if c.startswith("go to "))} - {""}
    places = sorted(reached, key=_order(hints))
    target = next((place for place in places if place.rpartition(" ")[0] == goal.place), "")
    wanted = _with_it(goal, memory, commands, target) if memory.held else _take(goal, commands, target)
    return wanted or _search(goal, memory, commands, places)


def _with_it(goal: Goal, memory: Memory, commands: Sequence[str], target: str) -> str:
    if goal.lamp:
        use = next((c for c in commands if c.startswith(f"use {goal.lamp}")), "")
        known = next((place for place, said in memory.seen.items() if f" {goal.lamp} " in said), "")
        return use or (f"go to {known}" if known else "")
    if goal.verb and not memory.treated:
        treat = next((c for c in commands if c.startswith(f"{goal.verb} {memory.held} with")), "")
        return treat or f"go to {_APPLIANCES[goal.verb]} 1"
    ways = (f"move {memory.held} to {target}", f"open {target}", f"go to {target}")
    return next((way for way in ways if way in commands), "look")


def _take(goal: Goal, commands: Sequence[str], target: str) -> str:
    """What lies at the destination stays there, unless something is to be done to it first."""
    kept = "" if goal.verb or goal.lamp else f" from {target}"
    takes = (c for c in commands if c.startswith(f"take {goal.thing} ") and not (kept and c.endswith(kept)))
    return next(takes, "")


def _search(goal: Goal, memory: Memory, commands: Sequence[str], places: Sequence[str]) -> str:
    if memory.at not in memory.seen and f"open {memory.at}" in commands:
        return f"open {memory.at}"
    unseen = next((place for place in places if place not in memory.seen), "")
    known = next((p for p, said in memory.seen.items() if f" {goal.thing} " in said and p != memory.at), "")
    return f"go to {known if known and not memory.held else unseen}" if known or unseen else "look"


def _order(hints: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """The hinted places first, in their order; then by name."""

    def rank(place: str) -> tuple[int, str]:
        return (hints.index(place) if place in hints else len(hints)), place

    return rank


class Player(World):
    """Answers as the target of a game, and as an optimizer who knows which rule a type of task takes.

    `lessons` {} makes a player who needs no rules.
    """

    def __init__(self, items: Iterable[Item] = (), lessons: Mapping[str, str] = LESSONS, seed: int = 0) -> None:
        super().__init__(seed)
        self.lessons = lessons
        self.hints: dict[str, list[str]] = {}
        for item in items:
            gone = [step.removeprefix("go to ") for step in item.data["solution"] if step.startswith("go to ")]
            self.hints[item.data["goal"]] = [*self.hints.get(item.data["goal"], ()), *gone]

    def reply(self, system: str, user: str) -> str:
        return super().reply(system, user) if self.read(system).editor is not None else self.move(system, user)

    def move(self, system: str, user: str) -> str:
        """The reply to one step."""
        words, now = _TASK.search(user), _NOW.search(user)
        if words is None or now is None:
            return "I see no task."
        story = [(found.group(1), found.group(2)) for found in _STEP.finditer(user)]
        answers = [*(seen for seen, _ in story[1:]), now.group(1)]
        past = [(did, answer) for (_, did), answer in zip(story, answers, strict=False)]
        goal = goal_in(words.group(1))
        lesson = self.lessons.get(goal.kind, "") if goal else ""
        if lesson and lesson not in _RULE.findall(system):
            return "<think>I do not know how this is done.</think><action>ponder</action>"
        hints = self.hints.get(words.group(1), ())
        command = next_command(words.group(1), past, now.group(2).splitlines(), hints)
        return f"<think>Step {len(past) + 1}.</think><action>{command}</action>"

    def read(self, system: str) -> Reading:
        reading = super().read(system)
        if reading.editor is not None and reading.editor.name == "failure analyst":
            return Reading(Editor("failure analyst", self._analysis), reading.rules, reading.overrides, reading.digest)
        return reading

    def _analysis(self, user: str, mind: Mind) -> Row:
        """The rules of the types that failed, the most frequent first."""
        blocks = re.findall(r"<trajectory>\n(.*?)\n</trajectory>", user, re.DOTALL)
        kinds = (re.search(r"^task type: (\w+)$", block, re.MULTILINE) for block in blocks)
        counts = Counter(self.lessons[kind[1]] for kind in kinds if kind and kind[1] in self.lessons)
        known = section(user, "current_skill")
        missing = [name for name, _ in counts.most_common() if f"Rule {name}:" not in known]
        edits = [{"op": "append", "content": f"Rule {name}: follow it.", "why": "not followed"} for name in missing]
        summary = [{"failure_type": "rule_missing", "count": n, "description": name} for name, n in counts.items()]
        patch = {"reasoning": "Rules were missing.", "edits": edits[: budget(user)]}
        return {"batch_size": len(blocks), "failure_summary": summary, "patch": patch}
