from __future__ import annotations

import pytest
from pydantic import BaseModel

from skillopt.errors import ModelError
from skillopt.model.structured import Answer, ask
from skillopt.model.types import Completion, Request
from skillopt.testing.scripted import ScriptedProvider


class Pick(BaseModel):
    chosen: list[int]


async def asked(provider: ScriptedProvider) -> Answer[Pick]:
    return await ask(provider, "You choose.", "Choose.", Pick, stage="ranking", max_tokens=50, timeout=3.0)


async def test_a_good_answer_needs_one_call():
    provider = ScriptedProvider(['```json\n{"chosen": [1]}\n```'])
    answer = await asked(provider)
    assert answer.value == Pick(chosen=[1])
    assert (answer.lost, answer.repaired, answer.usage.calls) == (None, False, 1)
    assert (provider.requests[0].stage, provider.requests[0].max_tokens, provider.requests[0].timeout) == (
        "ranking",
        50,
        3,
    )


async def test_one_repair_carries_the_complaint_and_the_fenced_answer():
    provider = ScriptedProvider(['```json\n{"chosen": "secretvalue"}\n```', '{"chosen": [2]}'])
    answer = await asked(provider)
    assert answer.value == Pick(chosen=[2])
    assert answer.repaired and answer.usage.calls == 2
    repair = provider.requests[1].messages[-1].content
    assert repair.startswith("Choose.") and "chosen: Input should be a valid list" in repair
    assert "\n````\n```json" in repair


async def test_two_bad_answers_are_lost_with_a_reason():
    answer = await asked(ScriptedProvider(["nothing", "still nothing"]))
    assert answer.value is None and answer.lost is not None
    assert "no JSON object" in answer.lost
    assert (answer.raw, answer.usage.calls) == ("still nothing", 2)


async def test_a_cut_off_answer_is_asked_for_again_in_short():
    class Cut(ScriptedProvider):
        async def complete(self, request: Request) -> Completion:
            done = await super().complete(request)
            return Completion(done.text, done.usage, "length" if len(self.requests) == 1 else "stop")

    provider = Cut(['{"chosen": [1, 2', '{"chosen": [1]}'])
    assert (await asked(provider)).value == Pick(chosen=[1])
    assert "cut off" in provider.requests[1].messages[-1].content
    assert "shorter" in provider.requests[1].messages[-1].content


@pytest.mark.parametrize("kind", ["bad_request", "context_length", "content_filter"])
async def test_a_refused_request_is_lost_not_raised(kind: str):
    answer = await asked(ScriptedProvider([ModelError(kind, "no")]))
    assert answer.lost == f"{kind}: no"


@pytest.mark.parametrize("kind", ["auth", "server", "timeout"])
async def test_a_provider_that_fails_is_raised(kind: str):
    with pytest.raises(ModelError):
        await asked(ScriptedProvider([ModelError(kind, "no")]))


async def test_a_refused_repair_keeps_the_first_calls_usage():
    answer = await asked(ScriptedProvider(["nothing", ModelError("context_length", "too long")]))
    assert answer.lost == "context_length: too long"
    assert (answer.usage.calls, answer.raw) == (1, "nothing")
