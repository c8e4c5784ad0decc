"""Whole runs of the real gate policies against simulated proposals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from gate_simulation.world import Document, Edit, Split
from skillopt.evaluation.gates import Evidence, Gate, judged, spread, wanted_by
from skillopt.journal.state import State
from skillopt.optimizer.candidate import Candidate
from skillopt.skill.document import Skill
from skillopt.types import Item, Rollout

Steps = Callable[[Random], tuple[tuple[Edit, ...], ...]]
"""The patches of one step, raced against each other."""

MOST = 3
"""A gate that rejects without looking would go on for ever; and proposals are not free either."""


@dataclass(frozen=True, slots=True)
class Setting:
    n: int
    steps: int
    flaky: float

    @property
    def budget(self) -> int:
        """What the paper's gate spends: the seed and every candidate on every item."""
        return self.n * (self.steps + 1)


@dataclass(slots=True)
class Tally:
    """One run: after its steps, and after the budget. Lifts are true ones, in points."""

    lift: float = 0.0
    false: int = 0
    harmful: int = 0
    spent: int = 0
    claimed: float = 0.0
    at_budget: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """The document a run holds, what is known of it on the selection items, and what has been spent."""

    state: State
    document: Document
    known: Mapping[str, Rollout]
    draws: Mapping[str, Rollout]
    spent: int
    false: int = 0
    harmful: int = 0


def play(gate: Gate, setting: Setting, seed: int, proposals: Steps) -> Tally:
    """Steps until the planned number is done and the budget is used up, three times the planned number at most."""
    random = Random(f"{seed}/split")
    split = Split.make(setting.n, setting.flaky, random)
    now, order = _baseline(gate, split, random), spread(split.items, seed)
    start, result, step = split.truth(now.document), Tally(), 0
    while step < setting.steps or (now.spent < setting.budget and step < MOST * setting.steps):
        step += 1
        after = _step(gate, split, order, now, step, Random(f"{seed}/{step}"), proposals)
        if after.spent <= setting.budget:
            result.at_budget = 100 * (split.truth(after.document) - start)
        now = after
        if step == setting.steps:
            result.lift, result.spent = 100 * (split.truth(now.document) - start), now.spent
            result.false, result.harmful = now.false, now.harmful
            result.claimed = 100 * ((now.state.best_score or 0.0) - split.truth(now.document))
    return result


def _baseline(gate: Gate, split: Split, random: Random) -> Standing:
    skill = Skill("0")
    document = split.seed(random)
    draws = split.measured(document, random)
    state = State.start(skill)
    evidence = Evidence("baseline", state, Candidate.whole(skill, skill, "seed"), split.items)
    wanted = gate.wants(evidence)
    evidence = evidence.add([draws[i.digest] for i in wanted.candidate])
    return Standing(state.apply(gate.decide(evidence)), document, evidence.outcomes, draws, len(wanted.candidate))


def _step(
    gate: Gate, split: Split, order: tuple[Item, ...], now: Standing, step: int, random: Random, proposals: Steps
) -> Standing:
    patches = proposals(random)
    documents = [now.document.edited(patch, random) for patch in patches]
    draws = [split.measured(document, random) for document in documents]
    known, spent = dict(now.known), now.spent
    skills = [Skill(f"{step}.{place}") for place in range(len(patches))]
    field = [
        Evidence(
            str(step), now.state, Candidate.whole(skill, now.state.current, ""), split.items, now.known, order=order
        )
        for skill in skills
    ]
    while any(wants := wanted_by(gate, field)):
        for place, wanted in enumerate(wants):
            spent += len(wanted.candidate) + sum(item.digest not in known for item in wanted.incumbent)
            theirs = [now.draws[item.digest] for item in wanted.incumbent]
            known.update((row.item_digest, row) for row in theirs)
            ours = [draws[place][item.digest] for item in wanted.candidate]
            field[place] = field[place].add(ours, incumbent=theirs)
    decision, _ = judged(gate, field)
    state = now.state.apply(decision)
    if not decision.action.startswith("accept"):
        return replace(now, state=state, known=known, spent=spent)
    best = next(place for place, skill in enumerate(skills) if skill.text == decision.candidate)
    false = now.false + (documents[best].failing >= now.document.failing)
    harmful = now.harmful + (documents[best].failing > now.document.failing)
    return Standing(state, documents[best], field[best].outcomes, draws[best], spent, false, harmful)
