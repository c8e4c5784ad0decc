from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable

import pytest

from skillopt.agents.base import Task
from skillopt.agents.chat import ChatAgent
from skillopt.errors import BudgetExhausted, ConfigError, ModelError, SkillOptError
from skillopt.model.types import BilledError, Completion, Message, Request
from skillopt.rollout.executors.letters import Clerk, Door, Letter, PostOffice, Reply, Trouble
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import Usage

ASKED = Request((Message("user", "2 + 2?"),), "rollout")


class Desk:
    """A post office whose letters a clerk answers at once, as the run's side does; what is posted is pickled."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self.clerk = Clerk({"target": provider, "optimizer": provider})
        self.office = PostOffice()
        self.letters: list[Letter] = []

    def ask(self, letter: Letter) -> Awaitable[Reply]:
        return self.office.ask(pickle.loads(pickle.dumps(letter)))

    def door(self, attempt: str = "1") -> Door:
        return Door("target", "model", attempt, self)

    async def __aenter__(self) -> Desk:
        self.serving = asyncio.create_task(self.serve())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.serving.cancel()
        await asyncio.gather(self.serving, return_exceptions=True)

    async def serve(self) -> None:
        while True:
            for number, letter in await self.office.collect():
                self.letters.append(letter)
                reply = await self.clerk.answer(letter)
                if reply is not None:
                    await self.office.deliver(number, pickle.loads(pickle.dumps(reply)))


async def test_an_agent_away_asks_the_runs_model_with_its_own_settings() -> None:
    provider = ScriptedProvider(["four"])
    async with Desk(provider) as desk:
        desk.clerk.open("1")
        agent = ChatAgent(provider, reasoning_effort="low", temperature=0.5).away(desk.door())
        attempt = await agent.run(Task("sys", "2+2?", max_tokens=77))
    (request,) = provider.requests
    assert (request.temperature, request.reasoning_effort, request.max_tokens) == (0.5, "low", 77)
    assert attempt.answer == "four" and attempt.usage.calls == 1


async def test_an_attempt_that_begins_anew_is_given_the_answers_it_had() -> None:
    provider = ScriptedProvider(["first", "second", "third"])
    async with Desk(provider) as desk:
        desk.clerk.open("1")
        told = [(await door.complete(ASKED)).text for door in (desk.door(), desk.door())]
        again = desk.door()
        told += [(await again.complete(ASKED)).text, (await again.complete(ASKED)).text]
        desk.clerk.open("2")
        told.append((await desk.door("2").complete(ASKED)).text)
    assert told == ["first", "first", "first", "second", "third"], "equal questions of one attempt are two calls"


async def test_a_failed_call_reaches_the_node_as_itself_and_is_tried_again_by_the_next_attempt() -> None:
    provider = ScriptedProvider([ModelError("rate_limited", "slow down", retry_after=3.0), "four"])
    async with Desk(provider) as desk:
        desk.clerk.open("1")
        with pytest.raises(ModelError, match="slow down") as caught:
            await desk.door().complete(ASKED)
        assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 3.0)
        assert (await desk.door().complete(ASKED)).text == "four"


async def test_what_an_ended_attempt_still_asks_is_cancelled_and_not_asked() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedProvider):
        async def complete(self, request: Request) -> Completion:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

    clerk = Clerk({"target": Slow([])})
    clerk.open("1")
    answer = asyncio.create_task(clerk.answer(Letter("1", "target", ASKED)))
    await begun.wait()
    clerk.forget("1")
    assert await answer is None and ended.is_set()
    assert await clerk.answer(Letter("1", "target", ASKED)) is None


@pytest.mark.parametrize(
    "error",
    [
        ModelError("server", "503", retry_after=1.0),
        BilledError("empty", "nothing", Usage(calls=1)),
        BudgetExhausted("no room"),
        ConfigError(["a", "b"]),
    ],
)
def test_errors_survive_the_way(error: SkillOptError) -> None:
    made = pickle.loads(pickle.dumps(Trouble.of(error))).error
    assert type(made) is type(error) and str(made) == str(error) and vars(made) == vars(error)
