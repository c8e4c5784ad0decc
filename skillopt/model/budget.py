"""A cap that holds: before a call is sent, the most it can use is set aside; afterwards the rest is given back.

If the most does not fit while other calls still hold something, the call waits for theirs; when nothing is held and it
still does not fit, the money is gone and the run stops. A call is never sent that could break a cap.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from skillopt.errors import BudgetExhausted
from skillopt.model.prices import Tariff, worst
from skillopt.model.tokens import bound
from skillopt.model.types import Request
from skillopt.types import Usage

LEAST_ANSWER = 256
"""Less room than this for an answer is not worth a call."""


@dataclass(frozen=True, slots=True)
class Caps:
    """None is no cap."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    @property
    def any(self) -> bool:
        return (self.cost_usd, self.tokens, self.calls) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls that were sent (each attempt is one), tokens, and dollars."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        cost = round(self.cost_usd + other.cost_usd, 9)
        return Amount(self.calls + other.calls, self.tokens + other.tokens, cost)

    def __sub__(self, other: Amount) -> Amount:
        return self + Amount(-other.calls, -other.tokens, -other.cost_usd)


@dataclass(frozen=True, slots=True)
class Hold:
    """What is set aside for one call, and the request as it may be sent."""

    request: Request
    amount: Amount = Amount(calls=1)
    shortened: bool = False


class Budget:
    """One for both roles of a run; belongs to one event loop."""

    def __init__(self, caps: Caps | None = None, spent: Usage | None = None) -> None:
        self._caps = caps or Caps()
        self.capped = self._caps.any
        self._spent = _amount(spent) if spent else Amount()
        self._held = Amount()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def caps(self) -> Caps:
        return self._caps

    @property
    def spent(self) -> Amount:
        """What was used for certain, plus the most that calls without a known outcome can have used."""
        return self._spent

    @property
    def held(self) -> Amount:
        return self._held

    def continue_from(self, spent: Usage, booked: Usage) -> None:
        """What earlier sessions of the run have used: what their results cost, or what they booked, whichever is more.

        Booked is more where calls failed for good; results are more where a process was killed and could not say.
        """
        paid, noted = _amount(spent), _amount(booked)
        cost = max(paid.cost_usd, noted.cost_usd)
        self._spent += Amount(max(paid.calls, noted.calls), max(paid.tokens, noted.tokens), cost)

    def booked(self) -> Usage:
        """Everything used so far, in the shape the journal keeps."""
        return Usage(calls=self._spent.calls, prompt_tokens=self._spent.tokens, cost_usd=self._spent.cost_usd)

    async def reserve(self, request: Request, tariff: Tariff | None) -> Hold:
        """Set the most aside that this call can use, or raise `BudgetExhausted`."""
        if not self.capped:
            return Hold(request)
        most = self._most(request, request.max_tokens, tariff)
        while True:
            hold = Hold(request, most) if self._fits(most) else self._shortened(request, tariff)
            if hold is not None:
                self._held += hold.amount
                return hold
            await self._someone_settles()

    def settle(self, hold: Hold, used: Usage | None, tariff: Tariff | None) -> None:
        """Book what the call used; None means nobody knows, and then all of it is booked."""
        if not self.capped:
            return
        self._held -= hold.amount
        reported = used is not None and not used.unreported
        self._spent += replace(_amount(used), calls=1) if used is not None and reported else hold.amount
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def _shortened(self, request: Request, tariff: Tariff | None) -> Hold | None:
        """A hold for as long an answer as still fits; None when the whole may fit later."""
        if self._caps.calls is not None and self._spent.calls + self._held.calls + 1 > self._caps.calls:
            raise self.exhausted()
        if self._held.calls:
            return None
        room = self._room(request, tariff)
        if room < min(LEAST_ANSWER, request.max_tokens):
            raise self.exhausted()
        return Hold(replace(request, max_tokens=room), self._most(request, room, tariff), shortened=True)

    def _room(self, request: Request, tariff: Tariff | None) -> int:
        """The longest answer that still fits; the price of an answer grows with its length."""
        low, high = 0, request.max_tokens
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits(self._most(request, middle, tariff)):
                low = middle
            else:
                high = middle - 1
        return low

    def _most(self, request: Request, answer: int, tariff: Tariff | None) -> Amount:
        prompt = bound(request)
        return Amount(1, prompt + answer, worst(tariff, prompt, answer) if tariff else 0.0)

    def _fits(self, amount: Amount) -> bool:
        total, caps = self._spent + self._held + amount, self._caps
        return (
            (caps.calls is None or total.calls <= caps.calls)
            and (caps.tokens is None or total.tokens <= caps.tokens)
            and (caps.cost_usd is None or total.cost_usd <= caps.cost_usd)
        )

    async def _someone_settles(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def exhausted(self) -> BudgetExhausted:
        """The error of a call that the caps have no room for."""
        spent, caps = self._spent, self._caps
        rows = (
            ("calls", caps.calls, f"{spent.calls} of {caps.calls} calls (budget.max_calls)"),
            ("tokens", caps.tokens, f"{spent.tokens} of {caps.tokens} tokens (budget.max_tokens)"),
            ("cost", caps.cost_usd, f"${spent.cost_usd:.4f} of ${caps.cost_usd or 0:.2f} (budget.max_cost_usd)"),
        )
        used = ", ".join(text for _, cap, text in rows if cap is not None)
        return BudgetExhausted(
            f"the budget has no room for another call: {used} are used. The run is saved with its best skill so far; "
            "raise the cap and run the same command again to continue"
        )


def _amount(usage: Usage) -> Amount:
    return Amount(usage.calls + usage.retries, usage.total_tokens, usage.cost_usd)
