"""Agents that are sent: what of them travels, and what stays to be booked at home."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

from skillopt.agents.base import Traveller
from skillopt.agents.chat import ChatAgent
from skillopt.agents.cli.agent import CliAgent
from skillopt.agents.cli.box import box
from skillopt.agents.cli.codex import Codex
from skillopt.agents.cli.found import Program
from skillopt.agents.function import FunctionAgent
from skillopt.errors import BudgetExhausted, ModelError
from skillopt.model.budget import Budget, Caps
from skillopt.model.endpoint import Endpoint
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import Attempt, Usage

ELSEWHERE = ScriptedProvider([])


def program(budget: Budget) -> CliAgent:
    found = Program(Path("/usr/bin/codex"), "1.0", ())
    made = CliAgent(Codex(), found, box("none"), Endpoint("http://x", "m"), 60, asyncio.Semaphore(4), budget=budget)
    return made.holding("# Skill")[0]


async def test_every_agent_of_the_house_can_be_sent_and_keeps_its_skill() -> None:
    agents = (ChatAgent(ELSEWHERE), FunctionAgent(str), program(Budget(Caps(calls=1))))
    for agent in agents:
        assert isinstance(agent, Traveller)
        pickle.loads(pickle.dumps(agent.away(ELSEWHERE)))
    sent = agents[2].away(ELSEWHERE)
    assert sent.skill == "# Skill" and not sent.budget.capped, "the cap is kept at home, and not counted twice"


async def test_what_a_program_uses_away_is_booked_at_home_and_the_cap_holds() -> None:
    budget = Budget(Caps(calls=2))
    agent = program(budget)

    async def made() -> Attempt:
        assert budget.held.calls == 1
        return Attempt("a", (), Usage(calls=1, prompt_tokens=10), skill_read=True)

    async def lost() -> Attempt:
        raise ModelError("node_lost", "gone")

    assert (await agent.home(made)).answer == "a"
    assert budget.spent.tokens == 10 and budget.held.calls == 0 and agent.witness.read == 1
    with pytest.raises(ModelError):
        await agent.home(lost)
    assert budget.spent.calls == 2 and budget.held.calls == 0, "what nobody knows is booked in full"
    with pytest.raises(BudgetExhausted):
        await agent.home(made)
