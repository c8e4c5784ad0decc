"""A desk without a network: `ask` follows a script, `once` keeps its records in a dict."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from skillopt.gradient.desk import Desk
from skillopt.journal.context import Context
from skillopt.journal.state import State
from skillopt.model.structured import Answer
from skillopt.prompts import Prompts
from skillopt.skill.document import Skill
from skillopt.types import Rollout, Score, Turn, Usage


@dataclass
class Script:
    """Answers by function of (title, user text); a str is a lost answer, a dict a JSON answer."""

    reply: object = None
    calls: list = field(default_factory=list)
    records: dict = field(default_factory=dict)

    async def ask(self, prompt, schema, *, stage, max_tokens):
        title = prompt.system.splitlines()[0].removeprefix("# ")
        self.calls.append((title, prompt.user, stage))
        said = self.reply(title, prompt.user)
        said = await said if hasattr(said, "__await__") else said
        if isinstance(said, str):
            return Answer(None, said, "", Usage(calls=2))
        return Answer(schema.model_validate(json.loads(json.dumps(said))), None, "", Usage(calls=1))

    async def once(self, key, effect):
        if key not in self.records:
            self.records[key] = await effect()
        return self.records[key]

    @property
    def desk(self):
        return Desk(self.once, self.ask, Prompts())


@pytest.fixture
def script():
    return Script()


@pytest.fixture
def context():
    state = State.start(Skill.parse("# Skill\n\n- Read the question.\n").with_region("slow_update", "Stay calm."))
    return Context(at="e01s02", step=2, epoch=1, total_steps=4, state=state)


@pytest.fixture
def rollout():
    def make(item, hard=0.0, text="hello", **detail):
        turns = (Turn("system", "SECRET SKILL TEXT"), Turn("user", "task"), Turn("assistant", text))
        return Rollout(item, "d", "s", "b", "qa", Score(hard, hard, detail), None, answer="x", trajectory=turns)

    return make
