"""What a policy may look at, and what it may ask for.

Outcomes are looked at in an order that the seed fixes, spread over the kinds of tasks, and only as far as the policy
has asked: what a crash left on record beyond that changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.types import Decision, Item, Rollout


@dataclass(frozen=True, slots=True)
class Wanted:
    """Attempts to make next; none at all means that enough is known.

    `incumbent` are items on which the bar's own document has no result yet: it may have been accepted early.
    """

    candidate: tuple[Item, ...] = ()
    incumbent: tuple[Item, ...] = ()
    claims: tuple[Item, ...] = ()
    """Training items that the candidate's edits say they mend."""
    again: tuple[Item, ...] = ()
    """Items that the candidate should attempt a second time."""

    def __bool__(self) -> bool:
        return bool(self.candidate or self.incumbent or self.claims or self.again)


NOTHING = Wanted()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a policy may look at. Outcomes are keyed by item digest; `incumbent` holds the bar's own outcomes.

    `order` is the order in which items are looked at; without one it is that of `items`.
    """

    at: str
    state: State
    candidate: Candidate
    items: tuple[Item, ...]
    incumbent: Mapping[str, Rollout] = field(default_factory=dict[str, Rollout])
    outcomes: Mapping[str, Rollout] = field(default_factory=dict[str, Rollout])
    order: tuple[Item, ...] = ()
    claims: tuple[Item, ...] = ()
    claimed: Mapping[str, Rollout] = field(default_factory=dict[str, Rollout])
    repeated: Mapping[str, Rollout] = field(default_factory=dict[str, Rollout])

    def add(
        self,
        rollouts: Sequence[Rollout] = (),
        *,
        incumbent: Sequence[Rollout] = (),
        claimed: Sequence[Rollout] = (),
        repeated: Sequence[Rollout] = (),
    ) -> Evidence:
        """The evidence with what has just come in."""
        more = replace(self, outcomes=_with(self.outcomes, rollouts), incumbent=_with(self.incumbent, incumbent))
        if not claimed and not repeated:
            return more
        return replace(more, claimed=_with(self.claimed, claimed), repeated=_with(self.repeated, repeated))

    @property
    def unchanged(self) -> bool:
        return self.state.bar is not None and self.candidate.skill.digest == self.state.current.digest

    @property
    def first(self) -> bool:
        """Nothing has been measured yet: this candidate sets the bar."""
        return self.state.bar is None

    @property
    def sequence(self) -> tuple[Item, ...]:
        return self.order or self.items

    @property
    def rows(self) -> tuple[Rollout, ...]:
        """The candidate's outcomes, in item order."""
        return tuple(self.outcomes[i.digest] for i in self.items if i.digest in self.outcomes)

    @property
    def unmeasured(self) -> tuple[Item, ...]:
        """In item order: what is attempted together is attempted in that order, whatever the looks are."""
        return tuple(i for i in self.items if i.digest not in self.outcomes)


class Gate(Protocol):
    """`wants` returns the attempts to make next (none = enough is known); `decide` turns evidence into a decision."""

    def wants(self, evidence: Evidence) -> Wanted: ...

    def decide(self, evidence: Evidence) -> Decision: ...


def spread(items: Sequence[Item], seed: int) -> tuple[Item, ...]:
    """A seeded order in which every beginning holds the kinds of tasks in about the proportion of the whole."""
    random = Random(f"{seed}/gate")
    kinds: dict[str, list[Item]] = {}
    for item in items:
        kinds.setdefault(item.kind, []).append(item)
    placed: list[tuple[float, float, Item]] = []
    for kind in sorted(kinds):
        group = kinds[kind]
        random.shuffle(group)
        shift = random.random()
        placed += [((place + shift) / len(group), random.random(), item) for place, item in enumerate(group)]
    return tuple(item for _, _, item in sorted(placed, key=lambda row: row[:2]))


def _with(known: Mapping[str, Rollout], rollouts: Sequence[Rollout]) -> Mapping[str, Rollout]:
    return {**known, **{r.item_digest: r for r in rollouts}} if rollouts else known
