from collections.abc import AsyncIterator, Sequence

import pytest

from skillopt.gradient.desk import Desk
from skillopt.gradient.miner import HEADING, Miner, MinerSettings
from skillopt.gradient.rules import induced_rules
from skillopt.journal.context import Context
from skillopt.journal.state import State
from skillopt.prompts import Prompts
from skillopt.skill.document import Skill
from skillopt.skill.examples import Example, blocks, render
from skillopt.types import Edit, Patch, Rollout, Score, StepDigest

EXAMPLES = {f"i{n}": Example(f"The {w} is old. What is old?", f"the {w}") for n, w in enumerate(
    ("bridge", "ferry", "clock tower", "lamp", "violin", "mill wheel", "barn", "orchard", "well", "oak"))}  # fmt: skip


class Records:
    """A journal in a dict, and an optimizer model that must not be asked."""

    def __init__(self) -> None:
        self.kept: dict[str, object] = {}

    async def once(self, key, effect):  # type: ignore[no-untyped-def]
        if key not in self.kept:
            self.kept[key] = await effect()
        return self.kept[key]

    async def ask(self, *args: object, **more: object) -> object:
        raise AssertionError("the miner asked a model")

    @property
    def desk(self) -> Desk:
        return Desk(self.once, self.ask, Prompts(None))  # type: ignore[arg-type]


def context(body: str = "", memory: tuple[StepDigest, ...] = (), step: int = 1) -> Context:
    skill = Skill(body)
    return Context(f"e01s{step:02d}", step, 1, 9, State(skill, skill, memory=memory))


async def attempts(failed: Sequence[str], passed: Sequence[str] = ()) -> AsyncIterator[Rollout]:
    for item in failed:
        yield Rollout(item, item, "s", "d", "qa", Score(0.0, 0.0), None)
    for item in passed:
        yield Rollout(item, item, "s", "d", "qa", Score(1.0, 1.0), None)


def rejected(edits: Sequence[Edit], step: int = 1) -> StepDigest:
    return StepDigest(step, 1, "reject", 10, 5, rejected=tuple(edits))


async def mined(where: Context, failed: Sequence[str], settings: MinerSettings) -> Patch:
    found = await Miner(Records().desk, settings)(where, attempts(failed))
    return found[0].patch


async def test_a_blank_document_gets_rules_and_examples_of_failures() -> None:
    patch = await mined(context(), list(EXAMPLES), MinerSettings(EXAMPLES, schedule=lambda _: 5))
    skill = Skill().apply(patch).skill
    assert len(patch.edits) == 5 and len(blocks(skill.body)) == 4
    assert skill.body.index("## How to answer") < skill.body.index(HEADING)
    assert all(edit.update_origin == "miner" and edit.support for edit in patch.edits)


async def test_the_same_seed_and_results_give_the_same_edits() -> None:
    settings = MinerSettings(EXAMPLES, seed=3, schedule=lambda _: 4)
    first = await mined(context(), list(EXAMPLES), settings)
    assert first == await mined(context(), list(EXAMPLES), settings)
    shown = "\n\n".join(render(EXAMPLES[i]) for i in ("i0", "i1", "i2", "i3"))
    later = [
        await mined(context(shown), list(EXAMPLES), MinerSettings(EXAMPLES, seed=seed, schedule=lambda _: 4))
        for seed in range(6)
    ]
    assert len({patch.edits for patch in later}) > 1


async def test_only_failures_become_examples_and_the_learning_rate_holds() -> None:
    patch = await mined(context(), ["i1", "i2"], MinerSettings(EXAMPLES, schedule=lambda _: 2))
    assert len(patch.edits) == 2
    assert {item for edit in patch.edits for item in edit.support} <= {"i1", "i2"}


@pytest.mark.parametrize("seed", range(8))
async def test_a_rejected_edit_is_never_proposed_again(seed: int) -> None:
    shown = "\n\n".join(render(EXAMPLES[i]) for i in ("i0", "i1", "i2", "i3"))
    body, memory = f"{HEADING}\n\n{shown}\n", ()
    settings = MinerSettings(EXAMPLES, seed=seed, schedule=lambda _: 4)
    seen: set[tuple[str, str, str]] = set()
    for step in range(1, 60):
        patch = await mined(context(body, memory, step), ["i5", "i6"], settings)
        if not patch.edits:
            break
        keys = {(edit.op, edit.target, edit.content) for edit in patch.edits}
        assert not keys & seen
        seen |= keys
        memory = (*memory, rejected(patch.edits, step))
    assert {op for op, _, _ in seen} >= {"append", "replace"}


@pytest.mark.parametrize("tokens", [60, 120, 400])
async def test_the_document_stays_within_its_room(tokens: int) -> None:
    body, settings = "", MinerSettings(EXAMPLES, schedule=lambda _: 5, tokens=tokens)
    for step in range(1, 12):
        body = Skill(body).apply(await mined(context(body, step=step), list(EXAMPLES), settings)).skill.body
    assert len(body) <= 4 * tokens + 40


async def test_every_edit_fits_the_document_it_was_made_for() -> None:
    body, settings = "# Mine\n\nKeep this.\n", MinerSettings(EXAMPLES, schedule=lambda _: 4)
    for step in range(1, 20):
        made = Skill(body).apply(await mined(context(body, step=step), list(EXAMPLES), settings))
        assert all(report.applied for report in made.reports)
        body = made.skill.body
    assert "Keep this." in body


async def test_no_failures_mean_no_record() -> None:
    records = Records()
    assert await Miner(records.desk, MinerSettings(EXAMPLES))(context(), attempts([], ["i1"])) == ()
    assert not records.kept


def test_rules_say_what_all_answers_share() -> None:
    labels = [Example(f"ticket {n} about {w}", w) for n in range(4) for w in ("billing", "access")]
    assert induced_rules(labels)[0] == "- Reply with exactly one of these and nothing else: access, billing."
    assert "- billing: inputs that speak of billing." in induced_rules(labels)
    tagged = [Example(f"q{n}", f"<answer>{n} apples</answer>") for n in range(6)]
    assert induced_rules(tagged)[0] == "- Give the answer between <answer> and </answer>."
    numbers = [Example(f"q{n}", f"{n}.5") for n in range(6)]
    assert induced_rules(numbers)[0] == "- Reply with a number alone."
    objects = [Example(f"q{n}", f'{{"name": "x{n}", "age": {n}}}') for n in range(6)]
    assert "name, age" in induced_rules(objects)[0]
    assert induced_rules(objects[:3]) == ()
