"""One episode: show the place, take one command, carry it out, until the goal is reached or the steps are used up.

Each step is a fresh call with a short memory, so its cost does not grow; the system text holds the skill and never
changes, so providers can cache it. A failed model call leaves the episode as an error, never as a step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.agents.base import Task
from skillopt.agents.chat import CUT_OFF
from skillopt.envs.alfworld.outcome import Outcome
from skillopt.envs.alfworld.pool import Scene
from skillopt.envs.alfworld.replies import command_in
from skillopt.model.types import Completion
from skillopt.types import Attempt, Turn, Usage

_GOAL = "Your task is to:"
_HIDDEN = frozenset({"help"})
_NOTHING = "Nothing happens."
_UNREADABLE = (
    "Your reply held no command: write exactly one between <action> and </action>, after </think>. Nothing was done, "
    "and a step has passed."
)

Ask = Callable[[str], Awaitable[Completion]]


class Played(Protocol):
    """A game as an episode sees it."""

    async def start(self) -> Scene: ...

    async def step(self, command: str) -> Scene: ...


@dataclass(frozen=True, slots=True)
class Rules:
    max_steps: int = 50
    history: int = 2


@dataclass(slots=True)
class _Story:
    """What has happened: the scene as it is, what the player is told of it, and the steps so far."""

    goal: str
    scene: Scene
    seen: str
    past: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    unreadable: int = 0
    unknown: int = 0

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.scene.won, len(self.past), self.unreadable, self.unknown)


async def played(game: Played, ask: Ask, task: Task, rules: Rules) -> Attempt:
    """Play to the end and tell what happened."""
    scene = await game.start()
    story = _Story(scene.text.partition(_GOAL)[2].strip(), scene, scene.text.strip())
    turns = [Turn("system", task.system), Turn("user", told(story, rules))]
    usage = Usage()
    while not story.scene.won and len(story.past) < rules.max_steps:
        reply = await ask(told(story, rules))
        usage += reply.usage
        turns.append(Turn("assistant", reply.text))
        if reply.finish == "length":
            turns.append(CUT_OFF)
        command = command_in(reply.text)
        await _advance(story, game, command)
        turns += [Turn("action", command or "(none)"), Turn("observation", story.seen)]
    answer = str(story.outcome)
    return Attempt(answer, (*turns, Turn("verdict", answer)), usage, turns=len(story.past))


def told(story: _Story, rules: Rules) -> str:
    """The user text of the next step."""
    taken, kept = len(story.past), story.past[-rules.history :] if rules.history else []
    # The beginning already says what the task is.
    parts = [f"Task: {story.goal}"] if taken else []
    if kept:
        before = [
            f"Step {n}. You saw: {seen}\nYou did: {did}" for n, (seen, did) in enumerate(kept, taken - len(kept) + 1)
        ]
        parts.append(f"Steps taken so far: {taken}. The last ones:\n\n" + "\n\n".join(before))
    commands = "\n".join(command for command in story.scene.commands if command not in _HIDDEN)
    parts += [f"Step {taken + 1} of {rules.max_steps}. You see: {story.seen}", f"Commands possible now:\n{commands}"]
    return "\n\n".join(parts)


async def _advance(story: _Story, game: Played, command: str) -> None:
    seen, did = story.seen, command or "(your reply held no command)"
    if not command:
        story.unreadable += 1
        # The place is told again: with the short memory it would soon be forgotten.
        story.seen = f"{_UNREADABLE}\n{seen.removeprefix(_UNREADABLE).strip()}"
    elif command not in story.scene.commands:
        story.unknown += 1
        story.seen = _NOTHING
    else:
        story.scene = await game.step(command)
        story.seen = story.scene.text.strip()
    story.past.append((seen, did))
