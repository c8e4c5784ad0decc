from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.testing.analysts import NEUTRAL
from skillopt.testing.knacks import BY_NAME, KNACKS
from skillopt.testing.world import World, all_rules, make_items, write_split

ITEMS = make_items(200, seed=3, split="val")


def score(world: World, skill: str) -> float:
    right = 0
    for item in ITEMS:
        reply = world.reply(f"Answer questions.\n\n{skill}", f"{item['context']}\n\n{item['question']}")
        right += reply.endswith(f"<answer>{item['answers'][0]}</answer>")
    return right / len(ITEMS)


def edits_of(reply: str) -> list[dict]:
    row = json.loads(reply)
    return row.get("patch", row)["edits"]


def trajectory(number: int, knack: str) -> str:
    return f"<trajectory>\nid: t-{number}\n\n[user] About Thornmere Abbey: {BY_NAME[knack].asks[0]}\n</trajectory>"


def test_a_blank_skill_does_poorly_and_all_rules_do_everything():
    assert 0.15 <= score(World(), "") < 0.3
    assert score(World(), all_rules()) == 1.0


def test_every_rule_helps_and_every_override_harms():
    before = score(World(), "")
    for knack in KNACKS:
        if knack.needs_rule:
            assert score(World(), knack.rule) > before
        assert score(World(), f"{all_rules()}\n{knack.override}") < 1.0


def test_wrong_answers_share_a_word_with_the_right_ones():
    for item in ITEMS:
        reply = World().reply("", f"{item['context']}\n\n{item['question']}")
        words = set(reply.split("<answer>")[1].removesuffix("</answer>").lower().replace(",", "").split())
        assert words & set(str(item["answers"][0]).lower().replace(",", "").split())


def test_noise_is_a_matter_of_item_and_skill_alone():
    assert 0.6 < score(World(noise=0.2), all_rules()) < 0.95
    assert score(World(seed=1, noise=0.2), all_rules()) == score(World(seed=1, noise=0.2), all_rules())
    assert score(World(seed=1, noise=0.2), all_rules()) != score(World(seed=5, noise=0.2), all_rules())


def test_splits_are_apart_and_written_as_items(tmp_path: Path):
    write_split(tmp_path, 30, 20, 40, seed=5)
    rows = {s: json.loads((tmp_path / s / "items.json").read_text()) for s in ("train", "val", "test")}
    assert [len(rows[s]) for s in rows] == [30, 20, 40]
    every = [row for split in rows.values() for row in split]
    assert len({row["id"] for row in every}) == len({row["question"] for row in every}) == 90
    assert all(400 <= len(row["context"]) <= 900 and row["context"].startswith("[DOC] [TLE] ") for row in every)
    assert set(every[0]) == {"id", "question", "context", "answers"}
    assert make_items(30, 5, "train") == rows["train"]


def test_the_failure_analyst_proposes_what_is_missing_most_frequent_first():
    user = "<current_skill>\nRule initials: x\n</current_skill>\nPropose at most 2 edits.\n"
    failed = ["years-only", "with-unit", "with-unit", "initials", "keep-title", "keep-title", "keep-title"]
    user += "\n".join(trajectory(n, knack) for n, knack in enumerate(failed))
    edits = edits_of(World().reply("# Failure analyst\n\nFind causes.", user))
    assert [edit["content"] for edit in edits] == [BY_NAME["keep-title"].rule, BY_NAME["with-unit"].rule]
    assert edits[1]["support"] == ["t-1", "t-2"]


def test_an_override_in_the_skill_is_deleted():
    knack = BY_NAME["with-unit"]
    user = f"<current_skill>\n{knack.rule}\n{knack.override}\n</current_skill>\n{trajectory(1, 'with-unit')}"
    first = edits_of(World().reply("# FAILURE ANALYST", user))[0]
    assert (first["op"], first["target"]) == ("delete", knack.override)


def test_analysts_sometimes_propose_useless_and_harmful_edits():
    users = [f"at most 9 edits {n}\n{trajectory(n, 'initials')}" for n in range(200)]
    texts = [e["content"] for u in users for e in edits_of(World().reply("# Failure analyst", u))]
    assert 5 < sum("Override" in text for text in texts) < 60
    assert 20 < sum("Rule" not in text and "Override" not in text for text in texts) < 100


def test_the_merge_editor_joins_equal_edits():
    patches = [
        {"reasoning": "a {b", "edits": [{"op": "append", "content": "X", "support_count": 2, "support": ["1", "2"]}]},
        {"patch": {"edits": [{"op": "append", "content": "X", "support_count": 3, "support": ["2", "3"]}]}},
        {"edits": [{"op": "append", "content": "Y"}]},
    ]
    user = f"Skill {{not json}}\n<patches>\n{json.dumps(patches, indent=1)}\n</patches>"
    edits = edits_of(World().reply("# Merge editor: failure\n", user))
    assert [(e["content"], e["support_count"], e["support"]) for e in edits] == [
        ("X", 5, ["1", "2", "3"]),
        ("Y", 1, []),
    ]


@pytest.mark.parametrize(
    "form", ["{}. [append] {} (support: {})", "[{}] {}\nsupport_count: {}", "### Edit {}: {} support {}"]
)
def test_the_ranking_editor_prefers_supported_rules(form: str):
    texts = [("Read all.", 9), ("Rule a: x", 2), ("Override b: y", 9), ("Rule c: z", 7)]
    entries = "\n".join(form.format(n, text, support) for n, (text, support) in enumerate(texts))
    user = f"1. a numbered skill\n<proposed_edits>\n{entries}\n</proposed_edits>\nChoose at most 3 edits."
    assert json.loads(World().reply("# Ranking editor", user))["selected_indices"] == [3, 1, 0]


def test_the_slow_update_keeps_its_guidance_and_names_what_fails():
    asks = {name: f"About Thornmere Abbey: {BY_NAME[name].asks[0]}" for name in ("initials", "with-unit", "full-date")}
    user = (
        f"<previous_guidance>\n{BY_NAME['keep-title'].rule}\n</previous_guidance>\n"
        "<comparison>\nregressed 1, improved 1\n"
        f"## regressed\n{asks['initials']}\n## persistent_fail\n{asks['with-unit']}\n## improved\n{asks['full-date']}\n"
        "</comparison>"
    )
    content = json.loads(World().reply("# Slow update", user))["slow_update_content"]
    named = {name for name in BY_NAME if f"Rule {name}:" in content}
    assert named == {"keep-title", "initials", "with-unit"}
    assert "with-unit" in json.loads(World().reply("# Meta skill", user))["meta_skill_content"]


def test_analysts_learn_from_what_they_are_shown():
    user = "<current_skill>\nRule initials: x\n</current_skill>\nat most 9 edits\n" + trajectory(1, "with-unit")
    world, habit = World(habit="gate-colour"), BY_NAME["gate-colour"].override
    contents = [edit["content"] for edit in edits_of(world.reply("# Failure analyst", user))]
    assert contents[:2] == [habit, BY_NAME["with-unit"].rule]
    rejected = f"<previous_steps>\n1. append: {habit}\n</previous_steps>\n{user}"
    assert habit not in [edit["content"] for edit in edits_of(world.reply("# Failure analyst", rejected))]
    advice = "<editing_memory>\ngeneral advice changes nothing\n</editing_memory>"
    users = [f"{advice}\n{user} {n}" for n in range(60)]
    texts = [e["content"] for u in users for e in edits_of(World().reply("# Failure analyst", u))]
    assert not set(NEUTRAL) & set(texts)


def test_a_lapse_needs_a_reminder_and_an_override_can_be_undone():
    world = World(lapses=0.5)
    assert 0.4 < score(world, all_rules()) < 0.8
    reminders = "\n".join(knack.reminder for knack in KNACKS)
    assert score(world, f"{all_rules()}\n{reminders}") == 1.0
    knack = BY_NAME["gate-colour"]
    assert score(World(), f"{all_rules()}\n{knack.override}\n{knack.restore}") == 1.0


def test_an_analyst_who_may_writes_reminders_of_rules_that_stand_there():
    user = f"<current_skill>\n{BY_NAME['initials'].rule}\n</current_skill>\n"
    user += trajectory(1, "initials") + trajectory(2, "with-unit")
    row = json.loads(World().reply("# Failure analyst\n\nAnswer with `appendix_notes`.", user))
    assert row["appendix_notes"] == [BY_NAME["initials"].reminder]
    assert "appendix_notes" not in json.loads(World().reply("# Failure analyst", user))


def test_suggestions_and_documents_say_the_same_as_edits():
    override, rule = BY_NAME["initials"].override, BY_NAME["initials"].rule
    user = f"<current_skill>\n# Skill\n- {override}\n</current_skill>\n{trajectory(1, 'initials')}"
    rows = json.loads(World().reply("# Failure analyst: suggestions", user))["patch"]["revise_suggestions"]
    assert [row["instruction"] for row in rows][:2] == [f"Remove this line: {override}", f"Add this line: {rule}"]
    (document,) = json.loads(World().reply("# Failure analyst: document", user))["patch"]["skill_candidates"]
    asked = f"{user}\n<suggestions>\n{json.dumps(rows)}\n</suggestions>"
    written = json.loads(World().reply("# Skill rewriter", asked))
    assert document["new_skill"] == written["new_skill"] and document["new_skill"].startswith(f"# Skill\n{rule}")
    two = json.dumps([{"skill_candidates": [document]}, {"skill_candidates": [{"new_skill": "# Skill\nmore"}]}])
    (merged,) = json.loads(World().reply("# Merge editor: failure: documents", two))["skill_candidates"]
    assert merged["new_skill"].splitlines()[0] == "# Skill" and merged["new_skill"].endswith("more")


def test_the_rate_counts_what_is_worth_it_and_the_appendix_gets_shorter():
    entries = "\n".join(f"[{n}] {text}" for n, text in enumerate(["Rule a: x", "Read all.", "Override b: y"]))
    row = json.loads(World().reply("# Learning rate", f"<proposed_edits>\n{entries}\n</proposed_edits>"))
    assert row["learning_rate"] == 1
    notes = "<notes>\n- a\n- b\n- c\n</notes>"
    assert json.loads(World().reply("# Appendix editor", notes)) == {"appendix_notes": ["a b", "c"]}
