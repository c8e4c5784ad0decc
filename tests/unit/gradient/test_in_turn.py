from __future__ import annotations

from skillopt.gradient.in_turn import InTurn, Record, records
from skillopt.gradient.miner import PATTERN, Miner, MinerSettings
from skillopt.gradient.reflect import Reflect
from skillopt.journal.context import Context
from skillopt.journal.state import State
from skillopt.skill.document import Skill
from skillopt.skill.examples import Example, render
from skillopt.types import Edit, Patch, Pattern, Reflection, StepDigest

EDIT = Patch((Edit("append", "- x"),))


def step(action, *, mined, before=None, after=None, n=1):
    patterns = (Pattern(PATTERN, "", 1, ("i",)),) if mined else (Pattern("vague", "", 1, ("i",)),)
    return StepDigest(n, 1, action, 10, 5, patterns, before, after)


def context(memory=()):
    skill = Skill("# Skill\n")
    return Context("e01s01", 1, 1, 9, State(skill, skill, memory=tuple(memory)))


def team(said, patch=EDIT, written=EDIT):
    def analyst(name, patch):
        async def analyse(where, rollouts):
            assert [r.item async for r in rollouts] == ["a"]
            said.append(name)
            return (Reflection("failure", ("a",), patch),)

        return analyse

    return InTurn(analyst("mined", patch), analyst("written", written))


async def test_turns_go_to_those_whose_proposals_are_accepted(rollout):
    """A model that is never right gets few of twenty steps; one that is always right gets nearly all of the rest."""
    for luck, fewest in (({"mined"}, 14), ({"written"}, 14)):
        said: list[str] = []
        memory: list[StepDigest] = []
        for n in range(20):
            await team(said)(context(memory), _one(rollout))
            won = said[-1] in luck and said.count(said[-1]) % 2 == 0
            memory.append(step("accept_new_best" if won else "reject", mined=said[-1] == "mined", n=n))
        assert said[0] == "mined" and {"mined", "written"} == set(said)
        assert sum(name in luck for name in said) >= fewest


async def test_who_has_nothing_to_propose_leaves_the_step_to_the_other(rollout):
    said: list[str] = []
    found = await team(said, patch=Patch())(context(), _one(rollout))
    assert said == ["mined", "written"] and any(r.patch.edits for r in found)


async def test_without_a_gate_only_a_better_score_counts():
    mined, written = records(
        (
            step("force_accept", mined=True, before=0.5, after=0.4),
            step("force_accept", mined=True, before=0.4, after=0.6),
            step("skip_no_change", mined=False),
        )
    )
    assert (mined, written) == (Record(2, 1), Record(1, 0))
    assert mined.beats(written) and not written.beats(mined) and Record().beats(Record())


async def test_an_empty_find_of_the_miner_does_not_stand_for_the_models_answer(script, rollout):
    """Each has records of its own: the miner's empty one is not what the model's first analyst finds."""
    shown = Example("q", "a")
    skill = Skill(render(shown))
    where = Context("e01s01", 1, 1, 9, State(skill, skill))
    script.reply = lambda title, user: {"patch": {"reasoning": "", "edits": [{"op": "append", "content": "- New."}]}}
    both = InTurn(Miner(script.desk, MinerSettings({"a": shown})), Reflect(script.desk))
    found = await both(where, _one(rollout))
    assert [edit.content for r in found for edit in r.patch.edits] == ["- New."]
    assert not any(pattern.name == PATTERN for r in found for pattern in r.patterns)


async def _one(rollout):
    yield rollout("a")
