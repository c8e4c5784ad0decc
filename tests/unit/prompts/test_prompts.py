from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from skillopt.errors import ConfigError, UnknownName
from skillopt.gradient.schemas import FailureAnalysis, MergedEdits, SuccessAnalysis
from skillopt.optimizer.schemas import Guidance, Memory, Ranking
from skillopt.prompts import Prompts, fence

PAGE = {"skill": "the document", "guidance": "", "appendix": "", "memory": "the memory", "previous_steps": "the steps"}
PATCHES = {"count": 2, "level": 1, "patches": "the patches"}
PAIRS = {"previous_skill": "p", "current_skill": "the document", "count": 2, "comparison": "the comparison"}
VALUES = {
    "analyst_error": (PAGE | {"budget": 3, "count": 2, "trajectories": "the trajectories"}, FailureAnalysis),
    "analyst_success": (PAGE | {"budget": 3, "count": 2, "trajectories": "the trajectories"}, SuccessAnalysis),
    "merge_failure": (PAGE | PATCHES, MergedEdits),
    "merge_success": (PAGE | PATCHES, MergedEdits),
    "merge_final": (
        PAGE | {"failure_count": 1, "failure_patch": "f", "success_count": 1, "success_patch": "s"}, MergedEdits
    ),
    "ranking": (PAGE | {"budget": 3, "count": 2, "edits": "the edits"}, Ranking),
    "slow_update": (PAIRS | {"previous_guidance": ""}, Guidance),
    "meta_skill": (PAIRS | {"previous_memory": "old"}, Memory),
}  # fmt: skip
TITLES = {
    "analyst_error": "# Failure analyst",
    "analyst_success": "# Success analyst",
    "merge_failure": "# Merge editor: failure",
    "merge_success": "# Merge editor: success",
    "merge_final": "# Merge editor: final",
    "ranking": "# Ranking editor",
    "slow_update": "# Slow update",
    "meta_skill": "# Meta skill",
}


@pytest.mark.parametrize("name", VALUES)
def test_titles_are_exact_and_the_example_obeys_the_schema(name):
    values, schema = VALUES[name]
    system = Prompts().render(name, **values).system
    assert system.splitlines()[0] == TITLES[name]
    example = json.loads(re.findall(r"```json\n(.*?)```", system, re.S)[-1])
    assert set(example) <= set(schema.model_fields) and schema.model_validate(example)


@pytest.mark.parametrize("name", VALUES)
def test_the_system_text_is_stable(name):
    values, _ = VALUES[name]
    other = {key: 7 if isinstance(value, int) else f"other {value}" for key, value in values.items()}
    assert Prompts().render(name, **values).system == Prompts().render(name, **other).system


def test_the_user_text_goes_from_stable_to_volatile():
    user = Prompts().render("analyst_error", **VALUES["analyst_error"][0]).user
    order = ["the document", "the memory", "the steps", "at most 3 edits", "the trajectories"]
    places = [user.index(words) for words in order]
    assert places == sorted(places)


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
    assert {k: v for k, v in theirs.items() if "ranking" not in k} == {k: v for k, v in ours.items() if k != "ranking"}


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
