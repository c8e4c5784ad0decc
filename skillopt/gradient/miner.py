"""The miner: an analyst without a model. It proposes worked examples of failures and rules induced from right answers.

Small models learn from examples more than from advice, and an edit that the gate can judge needs no author who can
argue for it. The records are those of every analyst; what it proposes follows from the seed, the step and the results.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from skillopt.gradient.choosing import chosen
from skillopt.gradient.desk import Desk
from skillopt.gradient.rules import induced_rules
from skillopt.gradient.tokens import estimate_tokens
from skillopt.journal.context import Context
from skillopt.journal.events import Reflected
from skillopt.optimizer.schedules import UNBOUNDED, Schedule
from skillopt.skill.examples import Example, blocks, render
from skillopt.types import Edit, Patch, Pattern, Reflection, Rollout

MINED = "miner"
PATTERN = "wrong answer (mined)"
"""The pattern that a step leaves behind whose edits were mined."""
HEADING = "## Worked examples"
ENOUGH = 4
"""Examples a document should have before exchanging them is worth more than adding some."""


class Analysts(Protocol):
    """Whoever turns rollouts into reflections: a model's analysts, the miner, or both in turn."""

    async def __call__(self, context: Context, rollouts: AsyncIterable[Rollout]) -> tuple[Reflection, ...]: ...


@dataclass(frozen=True, slots=True)
class MinerSettings:
    """`examples` are the training items that have a right answer, by id; `tokens` is the room of the document."""

    examples: Mapping[str, Example]
    seed: int = 0
    schedule: Schedule | None = None
    tokens: int = 1500

    def budget(self, context: Context) -> int:
        limit = UNBOUNDED if self.schedule is None else self.schedule(context.step)
        return min(limit, ENOUGH + 1)


@dataclass(frozen=True, slots=True)
class Miner:
    desk: Desk
    settings: MinerSettings

    async def __call__(self, context: Context, rollouts: AsyncIterable[Rollout]) -> tuple[Reflection, ...]:
        """One reflection on all failures of the step; there is nothing to merge, so nobody is asked to."""
        failed = [r.item async for r in rollouts if r.score is not None and not r.score.passed]
        if not failed:
            return ()
        await self.desk.begin(context.at, "reflect")
        body = await self.desk.once(f"{context.at}/reflect/mined/0", partial(self._reflected, context, tuple(failed)))
        return (body.reflection,)

    async def _reflected(self, context: Context, failed: tuple[str, ...]) -> Reflected:
        move = Bench.of(context, failed, self.settings).move()
        patch = Patch(move.edits, move.why)
        patterns = (Pattern(PATTERN, "mined without a model", len(failed), failed),) if move.edits else ()
        return Reflected(at=context.at, index=0, reflection=Reflection("failure", failed, patch, patterns))


@dataclass(frozen=True, slots=True)
class Move:
    """Edits that are tried together, and why."""

    edits: tuple[Edit, ...] = ()
    why: str = "nothing new to propose"


@dataclass(frozen=True, slots=True)
class Bench:
    """One step's material: the document as it is, the failures that could become examples, what was refused before."""

    body: str
    shown: tuple[str, ...]
    failed: tuple[str, ...]
    settings: MinerSettings
    budget: int
    refused: frozenset[tuple[str, str, str]]
    chance: random.Random

    @classmethod
    def of(cls, context: Context, failed: tuple[str, ...], settings: MinerSettings) -> Bench:
        refused = frozenset(_signature(edit) for entry in context.state.memory for edit in entry.rejected)
        body, chance = context.skill.body, random.Random(f"{settings.seed}/{context.step}")
        return cls(body, blocks(body), failed, settings, settings.budget(context), refused, chance)

    def move(self) -> Move:
        """Fill the document up first; then the moves in a random order, and the first that has something new."""
        if len(self.shown) < ENOUGH and (start := self._fill()).edits:
            return start
        ways = [self._swap, self._add, self._drop, self._rule]
        weights = [5, 4, 2, 2]
        while ways:
            at = self.chance.choices(range(len(ways)), weights)[0]
            if (found := ways.pop(at)()).edits:
                return found
            weights.pop(at)
        return Move()

    def _fill(self) -> Move:
        rules = self._rule().edits if self.budget > 1 else ()
        wanted = min(self.budget - len(rules), ENOUGH - len(self.shown))
        examples = self._examples(wanted, self._room() - sum(estimate_tokens(rule.content) for rule in rules))
        return Move((*rules, *examples), f"{len(examples)} worked examples of failures, and what right answers share")

    def _add(self) -> Move:
        return Move(self._examples(1, self._room()), "a worked example of a failure")

    def _swap(self) -> Move:
        """Give the place of one example to a failure; the others show whether it was worth it."""
        targets = [block for block in self.shown if self.body.count(block) == 1]
        if not targets:
            return Move()
        target = self.chance.choice(targets)
        others = tuple(block for block in self.shown if block != target)
        for item in self._candidates(others, self._room() + estimate_tokens(target)):
            edit = self._edit("replace", render(self.settings.examples[item]), (item,), target)
            if edit.content not in target and self._fresh(edit):
                return Move((edit,), "another worked example in the place of one")
        return Move()

    def _drop(self) -> Move:
        """Leave out an example or a mined rule: what does not help costs room and attention."""
        lines = [line for line in self.body.splitlines() if line.startswith("- ") and self.body.count(line) == 1]
        spare = list(self.shown) if len(self.shown) > ENOUGH else []
        targets = [target for target in (*spare, *lines) if self.body.count(target) == 1]
        self.chance.shuffle(targets)
        edits = (self._edit("delete", "", self.failed, target) for target in targets)
        return Move(tuple(edit for edit in edits if self._fresh(edit))[:1], "without one example or rule")

    def _rule(self) -> Move:
        """What all right answers of the training items have in common and the document does not say yet."""
        fitting = [rule for rule in induced_rules(tuple(self.settings.examples.values())) if rule not in self.body]
        for rules in (fitting, *([rule] for rule in fitting)):
            edit = self._rule_edit("\n".join(rules)) if rules else None
            if edit is not None and self._fresh(edit) and estimate_tokens(edit.content) <= self._room():
                return Move((edit,), "what right answers share")
        return Move()

    def _rule_edit(self, lines: str) -> Edit:
        heading = "## How to answer"
        if heading in self.body:
            return self._edit("insert_after", lines, self.failed, heading)
        if self.body.count(HEADING) == 1:
            return self._edit("replace", f"{heading}\n\n{lines}\n\n{HEADING}", self.failed, HEADING)
        return self._edit("append", f"{heading}\n\n{lines}", self.failed)

    def _examples(self, wanted: int, room: int) -> tuple[Edit, ...]:
        edits: list[Edit] = []
        shown = self.shown
        for _ in range(wanted):
            edit = self._example(shown, room)
            if edit is None:
                break
            if not edits and HEADING not in self.body:
                edit = replace(edit, content=f"{HEADING}\n\n{edit.content}")
            edits.append(edit)
            shown = (*shown, edit.content)
            room -= estimate_tokens(edit.content)
        return tuple(edits)

    def _example(self, shown: tuple[str, ...], room: int) -> Edit | None:
        edits = (
            self._edit("append", render(self.settings.examples[item]), (item,))
            for item in self._candidates(shown, room)
        )
        return next((edit for edit in edits if self._fresh(edit)), None)

    def _candidates(self, shown: tuple[str, ...], room: int) -> list[str]:
        """Failures that fit, the most useful first; the order of equals is the seed's."""
        known = self.settings.examples
        usable = [i for i in dict.fromkeys(self.failed) if i in known and known[i].fits]
        fitting = [i for i in usable if estimate_tokens(render(known[i])) <= room]
        fitting = [i for i in fitting if not any(render(known[i]) in block for block in shown)]
        self.chance.shuffle(fitting)
        return chosen(fitting, known, shown)

    def _room(self) -> int:
        return self.settings.tokens - estimate_tokens(self.body)

    def _fresh(self, edit: Edit) -> bool:
        return _signature(edit) not in self.refused

    def _edit(self, op: str, content: str, items: tuple[str, ...], target: str = "") -> Edit:
        return Edit(
            op,
            content,
            target,
            "mined from failing attempts",
            "failure",
            len(items),
            support=items,
            update_origin=MINED,
        )


def _signature(edit: Edit) -> tuple[str, str, str]:
    """What an edit does, whatever heading it brought along."""
    return edit.op, edit.target.strip(), edit.content.replace(HEADING, "").strip()
