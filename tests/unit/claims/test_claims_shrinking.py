from __future__ import annotations

from skillopt.claims.shrinking import Limits, shrink, units, without_copies
from skillopt.evaluation.objective import Objective
from skillopt.skill.document import Skill
from skillopt.types import Rollout, Score

TEXT = """\
# Skill

An introduction that says very little but at some length.

- Rule one.
- Rule two is needed.
- Rule one.
"""


async def measure(skill: Skill, name: str) -> dict[str, Rollout]:
    score = Score(*(2 * [float("needed" in skill.text)]))
    return {str(i): Rollout(str(i), str(i), skill.digest, "val", "qa", score, None) for i in range(10)}


async def test_what_is_needed_stays_and_the_rest_goes() -> None:
    skill = Skill.parse(TEXT).with_region("slow_update", "Stay calm.")
    found = await shrink(skill, measure, Objective(), Limits())
    assert "Rule two is needed." in found.after.text and "introduction" not in found.after.text
    assert found.after.region("slow_update") == "Stay calm." and found.after.body.startswith("# Skill\n")
    assert [t.kept_out for t in found.trials].count(False) == 1
    assert found.tokens[1] < found.tokens[0]


async def test_it_stops_at_the_size_wanted_and_at_the_trials_allowed() -> None:
    skill = Skill.parse(TEXT)
    assert len((await shrink(skill, measure, Objective(), Limits(trials=1))).trials) == 1
    found = await shrink(skill, measure, Objective(), Limits(tokens=25))
    assert found.tokens[1] <= 25 and "Rule one." in found.after.text


def test_copies_and_units() -> None:
    assert without_copies(Skill.parse(TEXT)).body.count("Rule one.") == 1
    assert units(Skill.parse("# H\n\n- a\n- b\n\nText\nmore.\n")) == ("- a", "- b", "Text\nmore.")
