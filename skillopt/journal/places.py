"""What happened at one place of a run: a step (`e02s03`), the baseline, an epoch's slow update, the final test.

Parts of a step (`e02s03b0`) are places of their own that belong to the step. Builders here are private to the fold;
what they hand out is frozen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from skillopt.journal.events import (
    Merged,
    NotesConsolidated,
    RateDecided,
    Reflected,
    Rewritten,
    RolloutDone,
    Selected,
    StageStarted,
)
from skillopt.journal.state import State
from skillopt.skill.document import Skill
from skillopt.types import Decision, Reflection, Rollout, Tally, Usage

STAGE_OF = MappingProxyType(
    {
        "train": "rollout", "val": "evaluate", "gate": "evaluate", "analyst": "reflect", "merge": "aggregate",
        "ranking": "select", "slow": "compare",
    }
)  # fmt: skip
"""One name for each stage, whatever an event calls it: the word that `<stage>_s` in a step's timing is made from."""

_STEP = re.compile(r"e(\d+)s(\d+)(?:b(\d+))?")


@dataclass(frozen=True, slots=True)
class StepName:
    """A parsed place of training: epoch and step in it count from 1; `part` counts from 0."""

    epoch: int
    step: int
    part: int | None

    @classmethod
    def parse(cls, at: str) -> StepName | None:
        found = _STEP.fullmatch(at)
        if not found:
            return None
        epoch, step, part = found.groups()
        return cls(int(epoch), int(step), None if part is None else int(part))

    @property
    def at(self) -> str:
        return f"e{self.epoch:02d}s{self.step:02d}"


def step_of(at: str) -> str:
    """The step a part belongs to; any other place is its own."""
    name = StepName.parse(at)
    return name.at if name else at


@dataclass(frozen=True, slots=True)
class PartView:
    """One micro-batch of a step. `index` is None when the step was not cut into parts.

    `reflections` are those that look at this part only.
    """

    index: int | None
    rollouts: tuple[Rollout, ...]
    reflections: tuple[Reflection, ...]

    @property
    def tally(self) -> Tally:
        return Tally.of(self.rollouts)


@dataclass(frozen=True, slots=True)
class StepView:
    """One training step as far as it has come. `after` is the state its decision led to."""

    at: str
    step: int
    epoch: int
    step_in_epoch: int
    parts: tuple[PartView, ...]
    shared: tuple[Reflection, ...]
    """Reflections over more than one part."""
    evaluation: tuple[Rollout, ...]
    merges: tuple[Merged, ...]
    selected: Selected | None
    decision: Decision | None
    after: State | None
    timings: Mapping[str, float]
    usage: Mapping[str, Usage]
    seconds: float
    rate: RateDecided | None = None
    rewrite: Rewritten | None = None
    consolidated: NotesConsolidated | None = None

    @property
    def rollouts(self) -> tuple[Rollout, ...]:
        return tuple(r for part in self.parts for r in part.rollouts)

    @property
    def reflections(self) -> tuple[Reflection, ...]:
        return (*(r for part in self.parts for r in part.reflections), *self.shared)

    @property
    def tally(self) -> Tally:
        return Tally.of(self.rollouts)


@dataclass(slots=True)
class Span:
    """A stage at work. Times are of the run's own clock, which stands still between sessions."""

    of: int
    ts: float
    started: float
    last: float
    done: int = 0
    rested: bool = False


@dataclass(slots=True)
class Place:
    """The growing record of one place."""

    at: str
    first: float
    last: float
    rollouts: dict[str, list[Rollout]] = field(default_factory=dict[str, list[Rollout]])
    reflections: dict[tuple[str, int], Reflection] = field(default_factory=dict["tuple[str, int]", Reflection])
    merges: list[Merged] = field(default_factory=list[Merged])
    selected: Selected | None = None
    rate: RateDecided | None = None
    rewrite: Rewritten | None = None
    consolidated: NotesConsolidated | None = None
    decision: Decision | None = None
    after: State | None = None
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    bills: list[tuple[str, Usage]] = field(default_factory=list[tuple[str, Usage]])

    @property
    def usage(self) -> dict[str, Usage]:
        """By stage label, added up when asked: results come far more often than the question."""
        total: dict[str, Usage] = {}
        for label, usage in self.bills:
            total[label] = total.get(label, Usage()) + usage
        return total

    def start(self, body: StageStarted, ts: float, clock: float) -> str:
        stage = STAGE_OF.get(body.stage, body.stage)
        self.rest(clock)
        self.spans[stage] = Span(body.of, ts, clock, clock)
        return stage

    def rest(self, clock: float) -> None:
        """A stage that records nothing itself (update) lasts until the next one begins."""
        self.last = clock
        for span in self.spans.values():
            if span.done == 0 and not span.rested:
                span.last, span.rested = clock, True

    def spend(self, label: str, usage: Usage) -> None:
        self.bills.append((label, usage))

    def add_rollout(self, body: RolloutDone) -> None:
        """Trajectories stay on disk: no view shows them, and they are most of a run's bytes."""
        self.rollouts.setdefault(body.stage, []).append(body.rollout.without_trajectory())

    def add_reflection(self, body: Reflected) -> None:
        self.reflections[body.reflection.source, body.index] = body.reflection

    @property
    def ordered(self) -> tuple[Reflection, ...]:
        return tuple(self.reflections[place] for place in sorted(self.reflections))


def step_view(name: StepName, step: int, places: Iterable[Place]) -> StepView:
    """Put a step and its parts together. The step's own place holds what all parts share."""
    found = tuple(places)
    own = next((p for p in found if p.at == name.at), None) or Place(name.at, found[0].first, found[0].first)
    parts, shared = _parts(own, found)
    return StepView(
        at=name.at,
        step=step,
        epoch=name.epoch,
        step_in_epoch=name.step,
        parts=parts,
        shared=shared,
        evaluation=_of_the_candidate(own),
        merges=tuple(own.merges),
        selected=own.selected,
        decision=own.decision,
        after=own.after,
        timings=MappingProxyType(_timings(found)),
        usage=MappingProxyType(_usage(found)),
        seconds=max(p.last for p in found) - min(p.first for p in found),
        rate=own.rate,
        rewrite=own.rewrite,
        consolidated=own.consolidated,
    )


def _of_the_candidate(own: Place) -> tuple[Rollout, ...]:
    """Of several candidates in a step the rows of the one that was decided on."""
    rows = tuple(own.rollouts.get("val", ()))
    if own.decision is None or len({row.skill for row in rows}) < 2:
        return rows
    name = Skill.parse(own.decision.candidate).digest
    return tuple(row for row in rows if row.skill == name)


def _parts(own: Place, places: tuple[Place, ...]) -> tuple[tuple[PartView, ...], tuple[Reflection, ...]]:
    """Give each reflection to the part that holds all its items; the rest are shared."""
    cut = {name.part: p for p in places if (name := StepName.parse(p.at)) is not None and name.part is not None}
    if not cut:
        return (PartView(None, tuple(own.rollouts.get("train", ())), own.ordered),), ()
    parts: list[PartView] = []
    shared = list(own.ordered)
    for index in sorted(cut):
        rollouts = tuple(cut[index].rollouts.get("train", ()))
        items = {r.item for r in rollouts}
        mine = [r for r in shared if items.issuperset(r.items)]
        shared = [r for r in shared if r not in mine]
        parts.append(PartView(index, rollouts, (*cut[index].ordered, *mine)))
    return tuple(parts), tuple(shared)


def _timings(places: Iterable[Place]) -> dict[str, float]:
    """Seconds by stage; parts add up."""
    total: dict[str, float] = {}
    for place in places:
        for stage, span in place.spans.items():
            total[stage] = total.get(stage, 0.0) + span.last - span.started
    return total


def _usage(places: Iterable[Place]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for place in places:
        for label, usage in place.usage.items():
            total[label] = total.get(label, Usage()) + usage
    return total
