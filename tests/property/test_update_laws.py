"""Whatever models answer, every way of updating keeps front matter and one well-formed copy of each region."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.gradient.desk import Desk
from skillopt.journal.context import Context
from skillopt.journal.events import Body
from skillopt.journal.state import State
from skillopt.model.structured import Answer
from skillopt.optimizer.recipe import Settings, full_rewrite_recipe, patch_recipe, rewrite_recipe
from skillopt.optimizer.schemas import Rewrite, ShorterNotes
from skillopt.prompts import Prompts
from skillopt.skill.document import Skill
from skillopt.types import Edit, Patch, Reflection, Usage

MARKERS = tuple(f"<!-- {name}_{side} -->" for name in ("SLOW_UPDATE", "APPENDIX") for side in ("START", "END"))
PIECES = (*MARKERS, "<!-- APPEN", "DIX_END -->", "---\n", "name: a\n", "- rule\n", "# Title\n", "\n", "a", "b")
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=20)
ops = st.sampled_from(["append", "insert_after", "replace", "delete", "suggest", "document"])
patches = st.builds(
    Patch,
    edits=st.lists(st.builds(Edit, op=ops, content=texts, target=texts), max_size=3).map(tuple),
    notes=st.lists(texts, max_size=3).map(tuple),
)
RECIPES = {"patch": patch_recipe, "rewrite": rewrite_recipe, "full_rewrite": full_rewrite_recipe}
steps = st.lists(st.tuples(st.sampled_from([*RECIPES, "slow"]), patches, texts), max_size=5)


def desk(document: str) -> Desk:
    """Every rewrite answers this document, every consolidation one line of it."""

    async def ask(prompt: object, schema: type, *, stage: str, max_tokens: int) -> Answer:
        values = {Rewrite: {"new_skill": document}, ShorterNotes: {"appendix_notes": [document]}}
        try:
            return Answer(schema.model_validate(values[schema]), None, "", Usage())
        except ValueError:
            return Answer(None, "unusable", "", Usage())

    async def once(key: str, effect: Callable[[], Awaitable[Body]]) -> Body:
        return await effect()

    return Desk(once, ask, Prompts())


async def step(skill: Skill, recipe: str, patch: Patch, document: str) -> Skill:
    context = Context(at="e01s01", step=1, epoch=1, total_steps=1, state=State.start(skill))
    optimizer = RECIPES[recipe](desk(document), Settings(notes_threshold=3))
    return (await optimizer(context, [Reflection("failure", ("i",), patch)])).skill


@settings(max_examples=150, deadline=None)
@given(texts, steps)
def test_every_update_keeps_one_well_formed_copy_of_each_region(
    text: str, changes: list[tuple[str, Patch, str]]
) -> None:
    skill = Skill.parse(text)
    for kind, patch, document in changes:
        if kind == "slow":
            new = skill.with_region("slow_update", document)
        else:
            new = asyncio.run(step(skill, kind, patch, document))
            assert new.region("slow_update") == skill.region("slow_update")
            if not patch.notes or kind == "full_rewrite":
                assert new.region("appendix") == skill.region("appendix")
        assert new.front.strip() == skill.front.strip()
        for name in ("slow_update", "appendix"):
            for side in ("START", "END"):
                assert new.text.count(f"<!-- {name.upper()}_{side} -->") == new.has_region(name)
        again = Skill.parse(new.text)
        assert (again.text, again.regions) == (new.text, new.regions)
        skill = new
