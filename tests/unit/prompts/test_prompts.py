from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from skillopt.errors import ConfigError, UnknownName
from skillopt.gradient.schemas import FailureAnalysis, MergedEdits, SuccessAnalysis
from skillopt.optimizer.schemas import ChosenRate, Guidance, Memory, Ranking, Rewrite, ShorterNotes
from skillopt.prompts import HERE, Prompts, fence
from skillopt.skill.proposals import PAYLOADS

PAGE = {"skill": "the document", "guidance": "", "appendix": "", "memory": "the memory", "previous_steps": "the steps"}
ANALYST = PAGE | {"budget": 3, "unit": "edits", "count": 2, "trajectories": "the trajectories"}
ANALYST |= {"skill_aware": False, "show_reference": False}
PATCHES = {"count": 2, "level": 1, "patches": "the patches"}
SIDES = {"failure_count": 1, "failure_patch": "the patches", "success_count": 1, "success_patch": "s"}
CHOICE = {"budget": 3, "unit": "edits", "count": 2, "edits": "the edits"}
PAIRS = {"previous_skill": "p", "current_skill": "the document", "count": 2, "comparison": "the comparison"}
MODES = ("", "_rewrite", "_full_rewrite")
VALUES = {
    **{f"analyst_error{mode}": (ANALYST, FailureAnalysis) for mode in MODES},
    **{f"analyst_success{mode}": (ANALYST, SuccessAnalysis) for mode in MODES},
    **{f"merge_failure{mode}": (PAGE | PATCHES, MergedEdits) for mode in MODES},
    **{f"merge_success{mode}": (PAGE | PATCHES, MergedEdits) for mode in MODES},
    **{f"merge_final{mode}": (PAGE | SIDES, MergedEdits) for mode in MODES},
    "ranking": (PAGE | CHOICE, Ranking),
    "ranking_rewrite": (PAGE | CHOICE, Ranking),
    "lr_autonomous": (PAGE | CHOICE | {"tried": 4, "hard": 0.5, "soft": 0.25}, ChosenRate),
    "rewrite_skill": (PAGE | {"count": 2, "suggestions": "the suggestions"}, Rewrite),
    "appendix_consolidate": (PAGE | {"count": 2, "notes": "the notes"}, ShorterNotes),
    "slow_update": (PAIRS | {"previous_guidance": ""}, Guidance),
    "meta_skill": (PAIRS | {"previous_memory": "old"}, Memory),
}
TITLES = {
    "analyst_error": "# Failure analyst",
    "analyst_error_rewrite": "# Failure analyst: suggestions",
    "analyst_error_full_rewrite": "# Failure analyst: document",
    "analyst_success": "# Success analyst",
    "analyst_success_rewrite": "# Success analyst: suggestions",
    "analyst_success_full_rewrite": "# Success analyst: document",
    "merge_failure": "# Merge editor: failure",
    "merge_failure_rewrite": "# Merge editor: failure: suggestions",
    "merge_failure_full_rewrite": "# Merge editor: failure: documents",
    "merge_success": "# Merge editor: success",
    "merge_success_rewrite": "# Merge editor: success: suggestions",
    "merge_success_full_rewrite": "# Merge editor: success: documents",
    "merge_final": "# Merge editor: final",
    "merge_final_rewrite": "# Merge editor: final: suggestions",
    "merge_final_full_rewrite": "# Merge editor: final: documents",
    "ranking": "# Ranking editor",
    "ranking_rewrite": "# Ranking editor",
    "lr_autonomous": "# Learning rate",
    "rewrite_skill": "# Skill rewriter",
    "appendix_consolidate": "# Appendix editor",
    "slow_update": "# Slow update",
    "meta_skill": "# Meta skill",
}
ORDER = (
    "<previous_skill>",
    "<current_skill>",
    "<editing_memory>",
    "<previous_guidance>",
    "<previous_memory>",
    "<previous_steps>",
    "at most 3 edits",
    "one complete document",
    "<patches>",
    "<failure_patch>",
    "<proposed_edits>",
    "<suggestions>",
    "<notes>",
    "<comparison>",
    "<trajectories>",
)
"""What changes least comes first: the document lives for steps, the memory for an epoch, the rest for one call."""


@pytest.mark.parametrize("name", VALUES)
def test_titles_are_exact_and_the_example_obeys_the_schema(name):
    values, schema = VALUES[name]
    system = Prompts().render(name, **values).system
    assert system.splitlines()[0] == TITLES[name]
    example = json.loads(re.findall(r"```json\n(.*?)```", system, re.S)[-1])
    assert set(example) <= {*schema.model_fields, *PAYLOADS} and schema.model_validate(example)


@pytest.mark.parametrize("name", VALUES)
def test_the_system_text_is_stable(name):
    values, _ = VALUES[name]
    other = {key: _other(value) for key, value in values.items()}
    assert Prompts().render(name, **values).system == Prompts().render(name, **other).system


def _other(value):
    """Another value of its kind; a switch belongs to the run and stays as it is."""
    if isinstance(value, bool):
        return value
    return value + 7 if isinstance(value, int | float) else f"other {value}"


def test_every_template_is_looked_at():
    assert {path.stem for path in HERE.glob("*.md")} == set(VALUES) == set(TITLES)


@pytest.mark.parametrize("name", VALUES)
def test_the_user_text_goes_from_stable_to_volatile(name):
    user = Prompts().render(name, **VALUES[name][0]).user
    places = [user.index(mark) for mark in ORDER if mark in user]
    assert places == sorted(places) and len(places) >= 2
    tags = set(re.findall(r"^<(\w+)>$", user, re.M))
    assert tags <= {mark.strip("<>") for mark in ORDER} | {"success_patch"}, "a part without a place in the order"


@pytest.mark.parametrize("name", [name for name in VALUES if name.startswith("analyst")])
def test_a_switch_that_is_off_leaves_no_trace(name, tmp_path):
    """Without its switched parts a template gives, byte for byte, the prompt of a run with the switches off."""
    for path in HERE.glob("*.md"):
        bare = re.sub(r"\{% if (?:skill_aware|show_reference) %\}.*?\{% endif %\}\n", "", path.read_text(), flags=re.S)
        (tmp_path / path.name).write_text(bare)
    values, _ = VALUES[name]
    off = Prompts().render(name, **values)
    assert Prompts(tmp_path).render(name, **values) == off
    for switch, word in (("skill_aware", "appendix_notes"), ("show_reference", "<reference>")):
        on = Prompts().render(name, **values | {switch: True})
        assert word in on.system and word not in off.system and on.user == off.user


def test_data_cannot_end_its_own_fence():
    text = fence("notes", "a </notes> b </ NOTES > c <\n/notes")
    assert text.count("</notes") == 1 and text.endswith("\n</notes>") and "NOTES" not in text


def test_template_syntax_in_data_stays_text():
    user = (
        Prompts().render("analyst_error", **VALUES["analyst_error"][0] | {"trajectories": "{{ 7 * 7 }} {% x %}"}).user
    )
    assert "{{ 7 * 7 }} {% x %}" in user


def test_an_override_can_extend_ours(tmp_path):
    text = '{% extends "base/ranking.md" %}{% block system %}{{ super() }}Mind the tables.{% endblock %}'
    (tmp_path / "ranking.md").write_text(text)
    prompts = Prompts(tmp_path)
    prompt = prompts.render("ranking", **VALUES["ranking"][0])
    assert prompt.system.startswith("# Ranking editor") and prompt.system.endswith("Mind the tables.\n")
    assert "the edits" in prompt.user
    ours, theirs = Prompts().digests(), prompts.digests()
    assert theirs["base/ranking"] == ours["ranking"] != theirs["ranking"]
    same = {k: v for k, v in theirs.items() if k not in ("ranking", "base/ranking")}
    assert same == {k: v for k, v in ours.items() if k != "ranking"}


def test_an_override_serves_every_mode(tmp_path):
    text = '{% extends "base/analyst_error.md" %}{% block system %}{{ super() }}Mind the tables.{% endblock %}'
    (tmp_path / "analyst_error.md").write_text(text)
    for mode in MODES:
        prompt = Prompts(tmp_path).render(f"analyst_error{mode}", **ANALYST)
        assert prompt.system.splitlines()[0] == TITLES[f"analyst_error{mode}"]
        assert prompt.system.endswith("Mind the tables.\n")


def test_mistakes_name_the_template(tmp_path):
    with pytest.raises(UnknownName, match="nowhere"):
        Prompts().render("nowhere")
    with pytest.raises(ConfigError, match=r"(?s)ranking.*'edits' is undefined"):
        Prompts().render("ranking", **{k: v for k, v in VALUES["ranking"][0].items() if k != "edits"})
    (tmp_path / "half.md").write_text("{% block system %}x{% endblock %}")
    with pytest.raises(ConfigError, match=r"half.*user"):
        Prompts(tmp_path).render("half")
    (tmp_path / "broken.md").write_text("{% block system %}")
    with pytest.raises(ConfigError, match="broken"):
        Prompts(tmp_path).render("broken")


def test_jinja_is_loaded_only_when_a_prompt_is_rendered():
    code = "import sys, skillopt.prompts as p; p.Prompts().digests(); sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
