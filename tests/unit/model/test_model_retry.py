from __future__ import annotations

import pytest

from skillopt.errors import ModelError
from skillopt.model.meter import Stats
from skillopt.model.retry import Retry, RetryPolicy
from skillopt.model.types import FATAL, TRANSIENT, Message, Request
from skillopt.testing.scripted import ScriptedProvider

REQUEST = Request((Message("user", "hello"),), stage="rollout", timeout=10.0)


class FakeTime:
    """A clock that only sleeping (and the provider, if told so) moves."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def retrying(answers: object, policy: RetryPolicy | None = None, random: float = 1.0):
    time, provider, stats = FakeTime(), ScriptedProvider(answers), Stats()  # type: ignore[arg-type]
    retry = Retry(provider, policy, stats=stats, sleep=time.sleep, random=lambda: random, clock=lambda: time.now)
    return retry, provider, time, stats


@pytest.mark.parametrize("kind", sorted(TRANSIENT))
async def test_what_may_pass_is_asked_again_and_counted(kind: str):
    retry, provider, time, stats = retrying([ModelError(kind, "no"), ModelError(kind, "no"), "yes"])
    completion = await retry.complete(REQUEST)
    assert (completion.text, completion.usage.retries, stats.retries) == ("yes", 2, 2)
    assert time.slept == [0.5, 1.0]
    assert len(provider.requests) == 3


@pytest.mark.parametrize("kind", sorted(FATAL | {"bad_request", "context_length", "content_filter"}))
async def test_what_cannot_pass_is_raised_at_once(kind: str):
    retry, provider, time, _ = retrying([ModelError(kind, "never"), "yes"])
    with pytest.raises(ModelError, match=r"^never$"):
        await retry.complete(REQUEST)
    assert (len(provider.requests), time.slept) == (1, [])


async def test_waits_are_drawn_from_the_whole_range_and_capped():
    policy = RetryPolicy(max_attempts=10, base=1.0, cap=4.0)
    retry, _, time, _ = retrying(lambda _: ModelError("server", "no"), policy, random=0.5)
    with pytest.raises(ModelError, match="gave up after 10 attempts"):
        await retry.complete(REQUEST)
    assert time.slept == [0.5, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]


async def test_retry_after_is_honoured_and_costs_time_but_no_attempt():
    storm = [ModelError("rate_limited", "wait", retry_after=7.0)] * 9
    retry, _, time, _ = retrying([*storm, "yes"], RetryPolicy(max_attempts=2), random=0.0)
    assert (await retry.complete(REQUEST)).text == "yes"
    assert time.slept == [7.0] * 9


async def test_a_wait_beyond_the_deadline_is_not_begun():
    retry, _, time, _ = retrying(lambda _: ModelError("rate_limited", "wait", retry_after=700.0))
    with pytest.raises(ModelError) as caught:
        await retry.complete(REQUEST)
    assert (caught.value.kind, time.slept) == ("rate_limited", [])


async def test_the_deadline_counts_running_time_and_cuts_the_last_attempt():
    time = FakeTime()

    def slow(request: Request) -> ModelError:
        time.now += request.timeout or 0.0
        return ModelError("timeout", "slow")

    provider = ScriptedProvider(slow)
    policy = RetryPolicy(deadline=25.0)
    retry = Retry(provider, policy, sleep=time.sleep, random=lambda: 0.0, clock=lambda: time.now)
    with pytest.raises(ModelError, match="gave up after 3 attempts"):
        await retry.complete(REQUEST)
    assert [request.timeout for request in provider.requests] == [10.0, 10.0, 5.0]


async def test_time_in_a_queue_is_not_held_against_the_call():
    time = FakeTime()

    def queued(_: Request) -> ModelError | str:
        time.now += 3000.0
        return "yes" if len(provider.requests) == 3 else ModelError("server", "no")

    provider = ScriptedProvider(queued)
    retry = Retry(provider, sleep=time.sleep, random=lambda: 0.0, clock=lambda: time.now)
    assert (await retry.complete(REQUEST)).text == "yes"


async def test_a_single_attempt_may_take_longer_than_the_deadline():
    retry, provider, _, _ = retrying(["yes"], RetryPolicy(deadline=5.0))
    await retry.complete(REQUEST)
    assert provider.requests[0].timeout == 10.0
