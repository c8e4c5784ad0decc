import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from skillopt.errors import ModelError
from skillopt.model.lanes import Lanes
from skillopt.model.providers.local import LocalProvider, LocalSettings
from skillopt.model.resolve import resolve
from skillopt.model.types import Message, Request
from skillopt.types import JSON

SKILL = "Be brief.\n\nInput: snow\nOutput: white\n"


@dataclass
class FakeServer:
    """Tokens are characters; an answer is the script's."""

    answer: str = " green\n"
    calls: list[tuple[str, JSON]] = field(default_factory=list)
    slow: float = 0.0

    async def post(self, route: str, body: JSON) -> JSON:
        self.calls.append((route, body))
        if route == "/tokenize":
            return {"tokens": [ord(c) for c in body["content"]]}
        if route == "/apply-template":
            return {"prompt": "".join(f"<{m['role']}>{m['content']}" for m in body["messages"]) + "<assistant>"}
        if body["n_predict"]:
            await asyncio.sleep(self.slow)
        probs = [{"token": " a", "bytes": [32, 97], "logprob": -1.0}, {"token": "", "bytes": [], "logprob": -9.0}]
        return {
            "content": self.answer, "stop_type": "eos", "tokens_evaluated": 9, "tokens_predicted": 2,
            "timings": {"cache_n": 7}, "completion_probabilities": probs,
        }  # fmt: skip

    async def close(self) -> None:
        self.calls.append(("close", None))

    @property
    def completions(self) -> list[JSON]:
        return [body for route, body in self.calls if route == "/completion"]


def provider(server: FakeServer, layout: str = "document", slots: int = 1) -> LocalProvider:
    return LocalProvider(LocalSettings("m", Path(), layout, slots=slots), server)  # type: ignore[arg-type]


def request(user: str, system: str = SKILL, **more: JSON) -> Request:
    return Request((Message("system", system), Message("user", user)), "rollout", 16, **more)


def text(body: JSON) -> str:
    return "".join(map(chr, body["prompt"]))


async def test_the_document_layout_reads_the_skill_once_and_starts_every_answer_at_its_end() -> None:
    server = FakeServer()
    local = provider(server)
    first = await local.complete(request("grass"))
    assert (first.text, first.finish, first.usage.prompt_tokens, first.usage.cached_tokens) == ("green", "stop", 9, 7)
    await local.complete(request("moss"))
    prefix = f"{SKILL.strip()}\n\n"
    seen = [(text(body), body["n_predict"], body["cache_prompt"]) for body in server.completions]
    assert seen == [
        (prefix, 0, False),
        (prefix, 0, True),
        (f"{prefix}Input: grass\nOutput:", 16, True),
        (prefix, 0, True),
        (f"{prefix}Input: moss\nOutput:", 16, True),
    ]


async def test_without_a_skill_nothing_is_kept_between_requests() -> None:
    server = FakeServer()
    await provider(server).complete(request("grass", system=""))
    assert [(text(b), b["cache_prompt"]) for b in server.completions] == [("Input: grass\nOutput:", False)]


async def test_the_chat_layout_replays_examples_as_turns() -> None:
    server = FakeServer()
    await provider(server, "chat").complete(request("grass"))
    rendered = next(body for route, body in server.calls if route == "/apply-template")
    assert [(m["role"], m["content"]) for m in rendered["messages"]] == [
        ("system", "Be brief."), ("user", "snow"), ("assistant", "white"), ("user", "grass"),
    ]  # fmt: skip
    assert text(server.completions[0]) == "<system>Be brief.<user>snow<assistant>white<user>"


async def test_constraints_become_grammars() -> None:
    server = FakeServer()
    local = provider(server)
    await local.complete(request("x", extra={"choices": ["a", 'b"']}))
    await local.complete(request("x", json_schema={"type": "object"}))
    chosen, schema = server.completions[2], server.completions[4]
    assert chosen["grammar"] == 'root ::= " a" | " b\\""' and chosen["stop"] == []
    assert schema["json_schema"] == {"type": "object"}


async def test_options_are_scored_without_the_end_sign() -> None:
    assert await provider(FakeServer()).score((Message("user", "x"),), ["a"]) == (-1.0,)


async def test_a_late_answer_is_a_timeout_and_the_skill_is_read_again() -> None:
    server = FakeServer(slow=0.2)
    local = provider(server)
    with pytest.raises(ModelError) as error:
        await local.complete(request("x", timeout=0.01))
    assert error.value.kind == "timeout"
    server.slow = 0.0
    await local.complete(request("x"))
    assert [b["cache_prompt"] for b in server.completions[-3:]] == [False, True, True]


async def test_waiting_requests_of_one_skill_follow_one_another() -> None:
    lanes, order = Lanes(1), []

    async def work(prefix: str, name: str) -> None:
        async with lanes.use(prefix) as lane:
            lane.prefix = prefix
            order.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(p, n) for p, n in (("A", "a1"), ("B", "b1"), ("A", "a2"), ("B", "b2"), ("A", "a3"))))
    assert order == ["a1", "a2", "a3", "b1", "b2"]


async def test_a_request_that_is_given_up_leaves_its_place_free() -> None:
    lanes = Lanes(1)
    async with lanes.use("A"):
        waiting = asyncio.ensure_future(lanes.use("B").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with lanes.use("C"):
        pass


def held(server: FakeServer, **more: JSON) -> LocalProvider:
    return LocalProvider(LocalSettings("m", Path(), "document", choices=("a", "bb"), **more), server)  # type: ignore[arg-type]


async def test_a_target_that_is_held_to_choices_writes_one_of_them_and_an_optimizer_is_not() -> None:
    server = FakeServer()
    local = held(server)
    await local.complete(request("x"))
    assert server.completions[-1]["grammar"] == 'root ::= " a" | " bb"'
    await local.complete(replace(request("x"), stage="analyst"))
    assert "grammar" not in server.completions[-1]
    assert "grammar of" in local.identity and local.identity != provider(server).identity


async def test_the_most_likely_choice_is_one_call_that_costs_all_its_readings() -> None:
    class Partial(FakeServer):
        async def post(self, route: str, body: JSON) -> JSON:
            answer = await super().post(route, body)
            if "bb" in str(body.get("grammar")):
                answer["completion_probabilities"] = [{"token": " bb", "bytes": [32, 98, 98], "logprob": -0.5}]
            return answer

    done = await held(Partial(), choose="likelihood").complete(request("x"))
    assert (done.text, done.finish, done.usage.calls, done.usage.prompt_tokens) == ("bb", "stop", 1, 18)


async def test_no_answer_is_longer_than_the_limit_of_the_machine() -> None:
    server = FakeServer()
    local = LocalProvider(LocalSettings("m", Path(), "document", max_tokens=8), server)
    await local.complete(request("x"))
    assert server.completions[-1]["n_predict"] == 8


def test_choices_belong_to_the_target_alone() -> None:
    config = {"target_backend": "local", "optimizer_backend": "local", "local_choices": ("a", "b")}
    target, optimizer = (resolve(config, role, {}) for role in ("target", "optimizer"))
    assert target.extra["choices"] == ["a", "b"] and "choices" not in optimizer.extra
    assert target.takes_schema and optimizer.takes_schema and target.identity != optimizer.identity
