"""`RunView`: the read model behind every display and artifact, a fold of the journal that only events can move.

Feed it all events in order (`RunView.of`) or one at a time (`apply`); both end in the same view. What it hands out is
frozen; what it gathers is private.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatchmethod
from types import MappingProxyType

from skillopt.journal.events import (
    Body,
    Decided,
    Event,
    Finished,
    Merged,
    MetaSkillWritten,
    NotesConsolidated,
    RateDecided,
    Reflected,
    Rewritten,
    RolloutDone,
    RunResumed,
    RunStarted,
    RunStopped,
    Selected,
    SlowUpdated,
    StageStarted,
)
from skillopt.journal.facts import Mishap, Missing, Progress, Session, Status
from skillopt.journal.places import STAGE_OF, Place, StepName, StepView, step_of, step_view
from skillopt.journal.state import State
from skillopt.skill.document import Skill
from skillopt.types import Decision, Rollout, Tally, Usage


class RunView:
    """A run as its journal tells it. An empty view has `started` None."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.finished: Finished | None = None
        self.status = Status("empty")
        self.state: State | None = None
        self.baseline: Decision | None = None
        self.booked = Usage()
        self.events = 0
        self._latest: tuple[str, str] | None = None
        self._sessions: list[Session] = []
        self._places: dict[str, Place] = {}
        self._open: dict[tuple[str, str], None] = {}
        self._missing: list[Missing] = []
        self._lost: list[Mishap] = []
        self._fallbacks: list[Mishap] = []
        self._slow: dict[int, SlowUpdated] = {}
        self._meta: dict[int, MetaSkillWritten] = {}
        self._measured: dict[str, Tally] = {}
        self._bests: dict[str, None] = {}
        self._skills: dict[int, Skill] = {}
        self._clock = 0.0
        self._rest = 0.0

    @classmethod
    def of(cls, events: Iterable[Event]) -> RunView:
        view = cls()
        for event in events:
            view.apply(event)
        return view

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        self.events = event.seq
        self._tick(event)
        if isinstance(event.body, RolloutDone):
            self._rolled(event.body)
        else:
            self._take(event.body, event.ts)
        if self.status.name != "running" and self.finished is None and not isinstance(event.body, RunStopped):
            self.status = Status("running")

    @property
    def kind(self) -> str:
        return self.started.kind if self.started else "train"

    @property
    def config(self) -> Mapping[str, object]:
        return MappingProxyType(self.started.config if self.started else {})

    @property
    def plan(self) -> Mapping[str, int]:
        return MappingProxyType(self.started.plan if self.started else {})

    @property
    def seed_skill(self) -> str:
        return self.started.seed_skill if self.started else ""

    @property
    def sessions(self) -> tuple[Session, ...]:
        return tuple(self._sessions)

    @property
    def wall_time(self) -> float:
        """Seconds at work; the time between two sessions does not count."""
        return sum(session.seconds for session in self._sessions)

    @property
    def progress(self) -> Progress | None:
        """The stage to show: where something moved last, the first one there that is not yet complete."""
        if self._latest is None:
            return None
        at, moved = self._latest
        spans = self._places[at].spans.items()
        return self._progress_of(at, next((stage for stage, span in spans if span.done < span.of), moved))

    @property
    def usage(self) -> Mapping[str, Usage]:
        """By stage label: rollout, judge, analyst, merge, lr_autonomous, ranking, rewrite, appendix_consolidate,
        slow_update, meta_skill."""
        total: dict[str, Usage] = {}
        for place in self._places.values():
            for label, usage in place.usage.items():
                total[label] = total.get(label, Usage()) + usage
        return MappingProxyType(total)

    @property
    def missing(self) -> tuple[Missing, ...]:
        return tuple(self._missing)

    @property
    def lost(self) -> tuple[Mishap, ...]:
        """Reflections whose answer could not be used."""
        return tuple(self._lost)

    @property
    def fallbacks(self) -> tuple[Mishap, ...]:
        return tuple(self._fallbacks)

    @property
    def slow_updates(self) -> Mapping[int, SlowUpdated]:
        return MappingProxyType(dict(self._slow))

    @property
    def slow_epochs(self) -> tuple[int, ...]:
        """The epochs whose slow update left a record or a decision."""
        decided = {int(at[6:]) for at, place in self._places.items() if at.startswith("slow/e") and place.decision}
        return tuple(sorted(decided | self._slow.keys()))

    @property
    def meta_skills(self) -> Mapping[int, MetaSkillWritten]:
        return MappingProxyType(dict(self._meta))

    @property
    def skills(self) -> Mapping[int, Skill]:
        """The current skill after each step (0 = seed); a slow update changes that of the epoch's last step."""
        return MappingProxyType(dict(self._skills))

    @property
    def best_digests(self) -> tuple[str, ...]:
        """Digests of all the documents that were ever the best, oldest first."""
        return tuple(self._bests)

    @property
    def stages(self) -> tuple[Progress, ...]:
        """The stages begun and not yet complete, oldest first: stages may overlap."""
        rows = (self._progress_of(at, stage) for at, stage in self._open)
        return tuple(row for row in rows if row.of == 0 or row.done < row.of)

    @property
    def steps(self) -> tuple[StepView, ...]:
        """All steps begun, in order."""
        names = {name.at: name for at in self._places if (name := StepName.parse(at)) is not None}
        return tuple(self._step(name) for name in sorted(names.values(), key=lambda n: (n.epoch, n.step)))

    @property
    def last_step(self) -> int:
        """The number of the last decided step; 0 before the first."""
        return max(self._skills, default=0)

    def step(self, at: str) -> StepView | None:
        """The step of a place; a part (`e02s03b0`) leads to its step."""
        name = StepName.parse(at)
        return self._step(name) if name is not None and self._places_of(name) else None

    def rollouts(self, at: str, stage: str) -> tuple[Rollout, ...]:
        """The rollouts of a place outside the steps (`baseline`, `slow/e02`, `final`, `test`), in file order."""
        place = self._places.get(at)
        return tuple(place.rollouts.get(stage, ())) if place else ()

    def rollouts_of(self, stage: str) -> tuple[Rollout, ...]:
        """All rollouts of a stage, wherever they were made."""
        return tuple(r for place in self._places.values() for r in place.rollouts.get(stage, ()))

    def decision(self, at: str) -> Decision | None:
        place = self._places.get(at)
        return place.decision if place else None

    def seconds(self, at: str) -> float | None:
        """How long a place took, up to its last result."""
        place = self._places.get(at)
        return place.last - place.first if place else None

    def measured(self, skill: Skill) -> Tally | None:
        """The scores of a document on the validation items, if it was ever measured."""
        return self._measured.get(skill.digest)

    def _step(self, name: StepName) -> StepView:
        return step_view(StepName(name.epoch, name.step, None), self._number(name), self._places_of(name))

    def _places_of(self, name: StepName) -> tuple[Place, ...]:
        prefix = name.at
        return tuple(p for at, p in self._places.items() if at == prefix or at.startswith(f"{prefix}b"))

    def _number(self, name: StepName) -> int:
        return (name.epoch - 1) * self.plan.get("steps_per_epoch", 0) + name.step

    def _tick(self, event: Event) -> None:
        """The run's clock: wall time up to this event."""
        if not self._sessions or isinstance(event.body, RunResumed):
            self._rest = self.wall_time
            self._sessions.append(Session(event.ts, event.ts))
        session = self._sessions[-1]
        if event.ts > session.last:
            self._sessions[-1] = session = Session(session.started, event.ts)
        self._clock = self._rest + session.seconds

    def _place(self, at: str) -> Place:
        if at not in self._places:
            self._places[at] = Place(at, self._clock, self._clock)
        return self._places[at]

    def _result(self, at: str, stage: str, label: str, usage: Usage) -> Place:
        """Book a result: on its place, its stage and the accounts."""
        place, stage = self._place(at), STAGE_OF.get(stage, stage)
        place.last = self._clock
        place.spend(label, usage)
        home = place if stage in place.spans else self._places.get(step_of(at), place)
        if (span := home.spans.get(stage)) is not None:
            span.done, span.last = span.done + 1, self._clock
            self._latest = (home.at, stage)
        return place

    def _progress_of(self, at: str, stage: str) -> Progress:
        span = self._places[at].spans[stage]
        return Progress(at, stage, span.done, span.of, span.ts)

    @singledispatchmethod
    def _take(self, body: Body, ts: float) -> None:
        """Bodies that only move the clock."""

    @_take.register
    def _(self, body: RunStarted, ts: float) -> None:
        self.started = body
        seed = Skill.parse(body.seed_skill)
        self.state = State.start(seed)
        self._skills[0] = seed
        self._bests[seed.digest] = None

    @_take.register
    def _(self, body: RunStopped, ts: float) -> None:
        self.booked = body.spent
        if self.finished is None:
            self.status = Status("stopped", body.reason)

    @_take.register
    def _(self, body: StageStarted, ts: float) -> None:
        stage = self._place(body.at).start(body, ts, self._clock)
        self._open[(body.at, stage)] = None
        self._latest = (body.at, stage)

    def _rolled(self, body: RolloutDone) -> None:
        """By far the most events are rollouts, so they take the short way past the dispatch."""
        place = self._result(body.at, body.stage, "rollout", body.rollout.usage)
        place.add_rollout(body)
        if body.rollout.judging.calls:
            place.spend("judge", body.rollout.judging)
        if body.rollout.failure is not None:
            self._missing.append(Missing(body.at, body.stage, body.rollout.item, body.rollout.failure))

    @_take.register
    def _(self, body: Reflected, ts: float) -> None:
        self._result(body.at, "reflect", "analyst", body.reflection.usage).add_reflection(body)
        if body.reflection.lost is not None:
            self._lost.append(Mishap(body.at, "reflect", body.reflection.lost))

    @_take.register
    def _(self, body: Merged, ts: float) -> None:
        self._result(body.at, "aggregate", "merge", body.usage).merges.append(body)
        if body.fallback is not None:
            self._fallbacks.append(Mishap(body.at, "aggregate", body.fallback))

    @_take.register
    def _(self, body: Selected, ts: float) -> None:
        self._result(body.at, "select", "ranking", body.usage).selected = body
        if body.fallback is not None:
            self._fallbacks.append(Mishap(body.at, "select", body.fallback))

    @_take.register
    def _(self, body: RateDecided, ts: float) -> None:
        self._result(body.at, "select", "lr_autonomous", body.usage).rate = body
        if body.error is not None:
            self._fallbacks.append(Mishap(body.at, "select", body.error))

    @_take.register
    def _(self, body: Rewritten, ts: float) -> None:
        self._result(body.at, "update", "rewrite", body.usage).rewrite = body
        if body.lost is not None:
            self._fallbacks.append(Mishap(body.at, "update", body.lost))

    @_take.register
    def _(self, body: NotesConsolidated, ts: float) -> None:
        self._result(body.at, "update", "appendix_consolidate", body.usage).consolidated = body
        if body.lost is not None:
            self._fallbacks.append(Mishap(body.at, "update", body.lost))

    @_take.register
    def _(self, body: Decided, ts: float) -> None:
        decision = body.decision
        state = (self.state or State.start(Skill())).apply(decision)
        place = self._place(decision.at)
        place.rest(self._clock)
        if (span := place.spans.get("evaluate")) is not None:
            span.last = self._clock
        place.decision, place.after = decision, state
        self.state = state
        self._remember(decision, state)

    @_take.register
    def _(self, body: SlowUpdated, ts: float) -> None:
        self._result(f"slow/e{body.epoch:02d}", "slow_update", "slow_update", body.usage)
        self._slow[body.epoch] = body

    @_take.register
    def _(self, body: MetaSkillWritten, ts: float) -> None:
        self._result(f"meta/e{body.epoch:02d}", "meta_skill", "meta_skill", body.usage)
        self._meta[body.epoch] = body
        if self.state is not None:
            self.state = self.state.apply(body)

    @_take.register
    def _(self, body: Finished, ts: float) -> None:
        self.finished, self.status = body, Status("finished")

    def _remember(self, decision: Decision, state: State) -> None:
        """What later records need of a decision."""
        name = StepName.parse(decision.at)
        if decision.tally is not None:
            self._measured[Skill.parse(decision.candidate).digest] = decision.tally
        self._bests.setdefault(state.best.digest)
        if decision.action == "baseline":
            self.baseline = decision
        self._skills[self._number(name) if name else self.last_step] = state.current
