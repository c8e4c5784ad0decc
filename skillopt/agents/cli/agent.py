"""The one agent behind every program: a workspace, a box, a relay, the program in it, and what came of it.

A provider that fails, a program that ends badly or takes too long is missing data (`ModelError`), never an answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from skillopt.agents.base import Ability, Task
from skillopt.agents.chat import opening
from skillopt.agents.cli import process
from skillopt.agents.cli.base import Cli, Order
from skillopt.agents.cli.box import PORT, Box, Room, Seat
from skillopt.agents.cli.found import Program
from skillopt.agents.cli.relay import Relay, Seen, lines_of
from skillopt.agents.cli.story import Story
from skillopt.agents.cli.workspace import furnish, prompt_of, room, skill_file, write
from skillopt.errors import ConfigError, ModelError, SkillOptError
from skillopt.model.budget import Budget
from skillopt.model.credentials import TokenSource
from skillopt.model.endpoint import Endpoint
from skillopt.model.prices import Tariff
from skillopt.model.providers.failures import scrub
from skillopt.model.retry import RetryPolicy
from skillopt.model.types import Completion, Message, Provider, Request, Tool
from skillopt.types import JSON, Attempt, Usage

log = logging.getLogger(__name__)

_AGAIN = "\nYour last message was empty. Look at the task again and end with a message that holds the answer.\n"
_SHOWN = 600
_JUDGED_AFTER = 5


@dataclass(slots=True)
class Witness:
    """Counts over a run whether the skill reached the model; says so once when it mostly did not."""

    read: int = 0
    unread: int = 0
    warned: bool = False

    def note(self, read: bool, program: str) -> None:
        self.read, self.unread = self.read + read, self.unread + (not read)
        if self.unread > self.read and self.unread + self.read >= _JUDGED_AFTER and not self.warned:
            self.warned = True
            log.warning(
                "%s did not show the skill to its model in %d of %d attempts: what is trained has no effect there. "
                "Look at a trajectory, and at the program's version.",
                program, self.unread, self.unread + self.read,
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CliAgent:
    """An agent program as the target. Values of a run; `holding` gives the same agent with a skill."""

    offers: ClassVar[frozenset[Ability]] = frozenset({"images", "tools", "files"})

    cli: Cli
    program: Program
    box: Box
    endpoint: Endpoint
    timeout: float
    slots: asyncio.Semaphore
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    details: bool = True
    """Whether the optimizer is shown what the program did, or only what it said at last."""
    tariff: Tariff | None = None
    budget: Budget = field(default_factory=Budget)
    tokens: TokenSource | None = None
    parent: Path | None = None
    skill: str = ""
    witness: Witness = field(default_factory=Witness)

    @property
    def identity(self) -> str:
        """Program, version and model: what a result depends on."""
        return f"{self.cli.name} {self.program.version} {self.endpoint.identity}"

    @property
    def described(self) -> dict[str, str]:
        """For the run's record."""
        kind = "bubblewrap" if self.box.isolated else "none"
        return {
            "backend": self.cli.name,
            "version": self.program.version,
            "program": str(self.program.path),
            "box": kind,
        }

    def holding(self, skill: str) -> tuple[CliAgent, str]:
        return replace(self, skill=skill), ""

    def away(self, model: Provider) -> CliAgent:
        """The model's key goes along, to the relay outside the box there; budget and counts stay with the run."""
        return replace(self, slots=asyncio.Semaphore(1), budget=Budget(), witness=Witness())

    async def home(self, attempt: Callable[[], Awaitable[Attempt]]) -> Attempt:
        asked = Request((Message("user", self.skill),), "rollout")
        hold, used = await self.budget.reserve(asked, self.tariff), None
        try:
            made = await attempt()
            used = made.usage
        finally:
            self.budget.settle(hold, used, self.tariff)
        if made.skill_read is not None:
            self.witness.note(made.skill_read, self.cli.name)
        return made

    async def chat(
        self, messages: tuple[Message, ...], *, max_tokens: int, timeout: float | None, tools: tuple[Tool, ...] = ()
    ) -> Completion:
        raise SkillOptError(f"this benchmark holds a conversation; {self.cli.name} carries out whole tasks only")

    async def run(self, task: Task) -> Attempt:
        if task.tools is not None and not task.folders:
            raise ConfigError(
                f"{self.cli.name} has tools of its own and cannot call those of the benchmark; choose a mode without "
                "them (such as env.mode: single)"
            )
        asked = Request((Message("user", task.system + task.user + self.skill),), "rollout", task.max_tokens)
        hold = await self.budget.reserve(asked, self.tariff)
        seen = Seen()
        try:
            async with self.slots:
                return await self._attempt(task, seen)
        finally:
            self.budget.settle(hold, self._priced(seen.usage, None), self.tariff)

    async def _attempt(self, task: Task, seen: Seen) -> Attempt:
        try:
            return await self._once(task, seen)
        except ModelError as error:
            if error.kind != "empty":
                raise
        return await self._once(replace(task, user=task.user + _AGAIN), seen)

    async def _once(self, task: Task, seen: Seen) -> Attempt:
        story, skill = Story(), skill_file(self.skill)
        with room(self.parent) as made:
            seat = self.box.seat(made, task.folders)
            prompt = prompt_of(task, seat.documents, self.cli.mention(skill.name) if skill else "")
            pictures = furnish(made, task, self.cli.skill_file(skill) if skill else None, prompt)
            relay = self._relay(seen, lines_of(skill.body) if skill else ())
            async with relay.at(self.box.socket(made)) as address:
                order = self._order(prompt, seat, address, pictures)
                ended = await self._run(order, made, task, story)
        self._judge(ended, story, seen, task)
        read = seen.skill if skill else None
        if read is not None:
            self.witness.note(read, self.cli.name)
        usage = replace(self._priced(seen.usage, story.cost_usd), retries=seen.retries)
        turns = (*opening(task), *story.told(details=self.details))
        return Attempt(story.answer, turns, usage, max(1, seen.usage.calls), read)

    async def answer(
        self, prompt: str, *, schema: Mapping[str, JSON] | None, timeout: float | None
    ) -> tuple[str, Usage]:
        """A prompt and nothing else, for a program that serves as a model."""
        story, seen = Story(), Seen()
        task = Task("", prompt, timeout=timeout)
        with room(self.parent) as made:
            seat = self.box.seat(made, ())
            if schema is not None:
                write(made.work / "schema.json", json.dumps(schema))
            async with self._relay(seen, ()).at(self.box.socket(made)) as address:
                order = self._order(prompt, seat, address, ())
                order = replace(order, schema=f"{seat.work}/schema.json" if schema is not None else "")
                async with self.slots:
                    ended = await self._run(order, made, task, story)
        self._judge(ended, story, seen, task)
        return story.answer, seen.usage

    def _relay(self, seen: Seen, wanted: tuple[str, ...]) -> Relay:
        cli, endpoint = self.cli, self.endpoint
        return Relay(endpoint, cli.routes(endpoint), cli.key_header(endpoint), self.policy, wanted, self.tokens, seen)

    def _order(self, prompt: str, seat: Seat, address: str, pictures: tuple[Path, ...]) -> Order:
        inside = address or f"http://127.0.0.1:{PORT}"
        return Order(prompt, self.endpoint.model, seat.work, seat.home, inside, pictures)

    async def _run(self, order: Order, made: Room, task: Task, story: Story) -> process.Ended:
        path = ":".join((*self.program.search, "/usr/local/bin", "/usr/bin", "/bin"))
        environment = {
            "PATH": path, "HOME": order.home, "USER": "agent", "SHELL": "/bin/bash", "LANG": "C.UTF-8",
            "TERM": "dumb", "TMPDIR": "/tmp", **self.cli.environment(order),
        }  # fmt: skip
        argv = self.cli.command(str(self.program.path), order)
        return await process.run(
            self.box.command(argv, self.program, made, task.folders, environment),
            stdin=self.cli.stdin(order),
            environment=self.box.environment(environment),
            folder=made.work,
            seconds=task.timeout or self.timeout,
            heard=lambda line: _heard(self.cli, line, story),
            isolated=self.box.isolated,
        )

    def _judge(self, ended: process.Ended, story: Story, seen: Seen, task: Task) -> None:
        """Raise where there is no answer; the provider's own words count for more than the program's."""
        if ended.code is None:
            limit = task.timeout or self.timeout
            raise ModelError("timeout", f"{self.identity}: no answer within {limit:g} s (env.exec_timeout)")
        if seen.trouble is not None:
            raise seen.trouble
        if ended.code != 0 or story.error:
            key = self.endpoint.api_key.get_secret_value() if self.endpoint.api_key else ""
            said = scrub(" ".join((story.error or ended.stderr).split())[-_SHOWN:], key)
            raise ModelError("program_error", f"{self.identity}: the program ended with code {ended.code}: {said}")
        if not story.answer.strip():
            raise ModelError("empty", f"{self.identity}: the program ended without a message")

    def _priced(self, usage: Usage, cost: float | None) -> Usage:
        if self.tariff is not None and not usage.unreported:
            return usage.priced(self.tariff.cost(usage))
        return usage.priced(cost)


def _heard(cli: Cli, line: bytes, story: Story) -> None:
    """One line of the stream. A line that is no event is counted and passed over: programs also print notes."""
    if not line.strip():
        return
    try:
        row: JSON = json.loads(line)
        if isinstance(row, dict):
            cli.hear(row, story)
    except (ValueError, KeyError, TypeError, AttributeError):
        story.malformed += 1
