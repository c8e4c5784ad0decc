"""Attempts as Ray tasks on an existing cluster; everything that is paid, judged or written stays with the run.

A task whose node dies begins anew, on another node, `ray.max_retries` times; then its item is missing data, and the
runner's rules for that apply. Attempts in flight are bounded by `env.workers`, as everywhere.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

from skillopt.agents.base import Agent, Traveller
from skillopt.agents.function import in_thread
from skillopt.config.schema_ray import Ray
from skillopt.envs.base import Benchmark
from skillopt.errors import ConfigError, ModelError, SkillOptError
from skillopt.model.settings import Role
from skillopt.model.types import Provider
from skillopt.rollout.executors.base import Recipe
from skillopt.rollout.executors.connection import Connection, check_installed, unreachable
from skillopt.rollout.executors.letters import Clerk, Door, Letter, PostOffice, Reply, Trouble
from skillopt.rollout.executors.node import Parcel, Voice, attempted
from skillopt.types import JSON, Attempt, Item

if TYPE_CHECKING:
    from ray import ObjectRef

log = logging.getLogger(__name__)

_CONNECTION = Connection()
_SKILLS_KEPT = 8
_LETTERS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class RayMailbox:
    """The post office as a node sees it: a handle that Ray can send."""

    office: JSON

    def ask(self, letter: Letter) -> Awaitable[Reply]:
        return self.office.ask.remote(letter)


@dataclass(slots=True)
class _Open:
    """What lives as long as the connection."""

    office: JSON
    task: JSON
    recipe: ObjectRef[Recipe]
    down: asyncio.Future[None]
    serving: asyncio.Task[None]
    skills: OrderedDict[str, ObjectRef[str]] = field(default_factory=OrderedDict[str, "ObjectRef[str]"])


class RayExecutor:
    """`models` are where the model calls of attempts end up."""

    def __init__(self, settings: Ray, recipe: Recipe, models: Mapping[Role, Provider], voice: Voice) -> None:
        check_installed()
        self._settings = settings
        self._recipe = recipe
        self._models = models
        self._voice = voice
        self._clerk = Clerk(models)
        self._numbers = itertools.count(1)
        self._open: _Open | None = None

    async def open(self) -> None:
        if self._open is not None:
            return
        address, seconds = self._settings.address.strip(), self._settings.connect_seconds
        try:
            await asyncio.wait_for(in_thread(partial(_CONNECTION.take, address)), seconds)
        except asyncio.TimeoutError as error:
            raise ConfigError(unreachable(address, f"no answer within {seconds:g} s, ray.connect_seconds")) from error
        try:
            self._open = await self._settled()
        except BaseException:
            await in_thread(_CONNECTION.leave)
            raise

    async def close(self) -> None:
        if self._open is None:
            return
        opened, self._open = self._open, None
        opened.serving.cancel()
        await asyncio.gather(opened.serving, return_exceptions=True)
        await in_thread(partial(_left, opened.office))

    async def attempt(self, benchmark: Benchmark, item: Item, skill: str, agent: Agent) -> Attempt:
        if self._open is None:
            raise SkillOptError("the cluster is not connected: open the executor before the first attempt")
        if not isinstance(agent, Traveller):
            raise ConfigError(
                f"env.executor: ray cannot send the target {type(agent).__name__} to a node: it is no Traveller "
                "(skillopt.agents.base); use env.executor: local"
            )
        return await agent.home(partial(self._sent, self._open, item, skill, agent))

    async def _sent(self, opened: _Open, item: Item, skill: str, agent: Traveller) -> Attempt:
        import ray

        name = str(next(self._numbers))
        target, optimizer = self._door("target", name, opened), self._door("optimizer", name, opened)
        self._clerk.open(name)
        try:
            parcel = Parcel(item, agent.away(target), target, optimizer, self._voice)
            ref = _submitted(opened, self._shared(opened, skill), parcel)
            try:
                outcome = await _awaited(ref, opened.down)
            except asyncio.CancelledError:
                ray.cancel(ref, force=False, recursive=True)
                raise
        finally:
            self._clerk.forget(name)
        if isinstance(outcome, Trouble):
            raise outcome.error
        return outcome

    def _door(self, role: Role, attempt: str, opened: _Open) -> Door:
        return Door(role, self._models[role].identity, attempt, RayMailbox(opened.office))

    def _shared(self, opened: _Open, skill: str) -> ObjectRef[str]:
        """The skill's text lies in the cluster once; attempts are given its name."""
        import ray

        if skill not in opened.skills:
            opened.skills[skill] = ray.put(skill)
        opened.skills.move_to_end(skill)
        while len(opened.skills) > _SKILLS_KEPT:
            opened.skills.popitem(last=False)
        return opened.skills[skill]

    async def _settled(self) -> _Open:
        import ray

        settings = self._settings
        _look_for_room(settings)
        office = _post_office()
        task = ray.remote(attempted).options(
            num_cpus=settings.num_cpus,
            num_gpus=settings.num_gpus,
            memory=settings.memory_mb * 2**20 if settings.memory_mb else None,
            resources=dict(settings.resources) or None,
            max_retries=settings.max_retries,
            scheduling_strategy="SPREAD",
            name="skillopt attempt",
        )
        try:
            recipe = ray.put(self._recipe)
        except TypeError as error:
            raise _unsendable("this benchmark", error) from error
        loop = asyncio.get_running_loop()
        down = loop.create_future()
        return _Open(office, task, recipe, down, loop.create_task(self._serve(office, down)))

    async def _serve(self, office: JSON, down: asyncio.Future[None]) -> None:
        """Collect letters and answer each on its own, until the executor is closed."""
        loop, under_way = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        try:
            while True:
                letters = cast("list[tuple[int, Letter]]", await office.collect.remote())
                for number, letter in letters:
                    task = loop.create_task(self._answer(office, number, letter))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
        except Exception as error:  # noqa: BLE001 - whoever waits for an attempt is told
            log.warning("the cluster's post office is gone: %s", error)
            if not down.done():
                down.set_result(None)
        finally:
            for task in under_way:
                task.cancel()

    async def _answer(self, office: JSON, number: int, letter: Letter) -> None:
        reply = await self._clerk.answer(letter)
        if reply is not None:
            office.deliver.remote(number, reply)


def _submitted(opened: _Open, skill: ObjectRef[str], parcel: Parcel) -> ObjectRef[Attempt | Trouble]:
    try:
        return opened.task.remote(opened.recipe, skill, parcel)
    except TypeError as error:
        raise _unsendable("this target", error) from error


def _unsendable(what: str, error: TypeError) -> ConfigError:
    # Ray's own words repeat everything that it was given; the cause names the part.
    reason = error.__cause__ or error.__context__ or error
    return ConfigError(f"env.executor: ray cannot send {what} to a node: {reason}. Use env.executor: local.")


async def _awaited(ref: ObjectRef[Attempt | Trouble], down: asyncio.Future[None]) -> Attempt | Trouble:
    """The outcome; an attempt whose machines died every time is missing data."""
    from ray.exceptions import RayError, RayTaskError

    result: asyncio.Future[Attempt | Trouble] = asyncio.wrap_future(ref.future())
    # Nobody waits any more for an attempt that was cancelled; what becomes of it still counts as seen.
    result.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    try:
        await asyncio.wait({result, down}, return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise SkillOptError(
                "the connection to the cluster was lost: the post office of this run is gone. Everything so far is "
                "kept; look at the cluster and run the same command again: it continues here."
            )
        return result.result()
    except RayTaskError as error:
        raise SkillOptError(
            f"a node could not carry out an attempt: {error.cause!r}. Every node needs the same Python packages, "
            "skillopt among them, and the code of the benchmark."
        ) from error
    except RayError as error:
        said = " ".join(str(error).split())
        raise ModelError("node_lost", f"the attempt was lost with its node, again and again: {said}") from error


def _left(office: JSON) -> None:
    import ray

    try:
        ray.kill(office)
    except Exception as error:  # noqa: BLE001 - a cluster that is gone has closed its office already
        log.debug("the post office could not be closed: %s", error)
    finally:
        _CONNECTION.leave()


def _post_office() -> JSON:
    """On the node that the run is connected through: if that one dies, the run has lost the cluster anyway."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    place = NodeAffinitySchedulingStrategy(here, soft=False)
    office: JSON = ray.remote(PostOffice)
    return office.options(num_cpus=0, max_concurrency=_LETTERS_AT_ONCE, scheduling_strategy=place).remote()


def _look_for_room(settings: Ray) -> None:
    """A cluster that grows may have no fitting node yet; that is worth a word, because attempts will wait."""
    import ray

    wanted = {"CPU": settings.num_cpus, "GPU": settings.num_gpus, **settings.resources}
    wanted["memory"] = (settings.memory_mb or 0) * 2**20
    nodes = [cast("dict[str, float]", node["Resources"]) for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(name, 0) >= amount for name, amount in wanted.items()) for node in nodes):
        asked = ", ".join(f"{name} {amount:g}" for name, amount in wanted.items() if amount)
        log.warning("no node of the cluster has %s for an attempt; the run waits until one joins", asked)
