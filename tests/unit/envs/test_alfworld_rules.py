"""ALFWorld without an engine: reading replies, the steps of an episode, scores, game files and where they are found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from skillopt.agents.base import Task
from skillopt.envs.alfworld.adapter import Alfworld
from skillopt.envs.alfworld.episode import Rules, played
from skillopt.envs.alfworld.names import spoken_names
from skillopt.envs.alfworld.outcome import Outcome, outcome_in
from skillopt.envs.alfworld.pool import Scene
from skillopt.envs.alfworld.replies import command_in
from skillopt.envs.base import DataSource
from skillopt.errors import DataError, ModelError
from skillopt.model.types import Completion
from skillopt.types import Attempt, Usage

GAME = Path(__file__).parents[2] / "contract" / "game.tw-pddl"
PUBLISHED = Rules()
HOUSE = "You are in a room.\n\nYour task is to: ring the bell."


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("<think>hm</think><action>go to desk 1</action>", "go to desk 1"),
        ("<ACTION> Go  to\nDesk 1. </ACTION>", "go to desk 1"),
        ("<think>maybe <action>open safe 1</action></think> <action>'look'</action>", "look"),
        ("<action>open safe 1</action><action>take cd 1 from safe 1</action>", "open safe 1"),
        ("<think>only <action>open safe 1</action> in mind</think>", ""),
        ("go to desk 1", ""),
        ("<action></action>", ""),
        ("", ""),
    ],
)
def test_a_command_is_what_stands_between_the_tags_after_the_thinking(reply: str, command: str) -> None:
    assert command_in(reply) == command


def test_things_are_numbered_as_published_walkthroughs_number_them() -> None:
    ids = ["mug_bar__plus_01", "mug_bar__minus_02", "sink_bar_1_bar_sinkbasin", "mugtype", "agent1"]
    assert spoken_names(ids) == {
        "mug_bar__minus_02": "mug 2",
        "mug_bar__plus_01": "mug 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "mugtype": "mugtype",
        "agent1": "agent1",
    }


class Bell:
    """A game that is won by `ring bell`, after `wake`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def start(self) -> Scene:
        return Scene(HOUSE, ("help", "look", "wake"), False)

    async def step(self, command: str) -> Scene:
        self.asked.append(command)
        awake = "wake" in self.asked
        return Scene(f"You {command}.", ("look", "ring bell") if awake else ("look", "wake"), command == "ring bell")


class Mouth:
    """Says its lines one after another, the last one for ever, and keeps what it was shown."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        self.shown: list[str] = []

    async def __call__(self, user: str) -> Completion:
        self.shown.append(user)
        return Completion(self.lines[min(len(self.shown), len(self.lines)) - 1], Usage(calls=1))


def act(*commands: str) -> tuple[str, ...]:
    return tuple(f"<think>.</think><action>{command}</action>" for command in commands)


async def episode(*lines: str, rules: Rules = PUBLISHED) -> tuple[Attempt, Bell, Mouth]:
    game, mouth = Bell(), Mouth(*lines)
    return await played(game, mouth, Task("system", ""), rules), game, mouth


async def test_an_episode_ends_when_the_goal_is_reached() -> None:
    attempt, game, mouth = await episode(*act("wake", "ring bell"))
    assert outcome_in(attempt.answer) == Outcome(True, 2)
    assert game.asked == ["wake", "ring bell"] and attempt.turns == 2 and attempt.usage.calls == 2
    roles = [turn.role for turn in attempt.trajectory]
    assert roles == ["system", "user", *["assistant", "action", "observation"] * 2, "verdict"]
    assert "help" not in mouth.shown[0] and HOUSE in mouth.shown[0]


async def test_a_reply_without_a_command_costs_a_step_and_is_told_to_the_model() -> None:
    attempt, game, mouth = await episode("I ring the bell.", *act("wake", "ring bell"))
    assert outcome_in(attempt.answer) == Outcome(True, 3, unreadable=1)
    assert game.asked == ["wake", "ring bell"]
    assert "no command" in mouth.shown[1] and HOUSE in mouth.shown[1].partition("You see:")[2]


async def test_a_command_that_is_not_possible_does_nothing() -> None:
    attempt, game, mouth = await episode(*act("ring bell", "wake", "ring bell"))
    assert outcome_in(attempt.answer) == Outcome(True, 3, unknown=1)
    assert game.asked == ["wake", "ring bell"] and "You see: Nothing happens." in mouth.shown[1]


async def test_only_the_last_steps_are_shown_and_the_goal_always() -> None:
    _, _, mouth = await episode(*act("look", "look", "wake", "look", "ring bell"), rules=Rules(history=2))
    last = mouth.shown[-1]
    assert last.startswith("Task: ring the bell.") and "Steps taken so far: 4" in last and "Step 5 of 50" in last
    assert last.count("You did:") == 2 and "Step 3. You saw: You look.\nYou did: wake" in last
    assert "You are in a room" not in last


async def test_the_step_limit_may_be_beyond_fifty() -> None:
    attempt, _, _ = await episode(*act("look"), rules=Rules(max_steps=73, history=0))
    assert outcome_in(attempt.answer) == Outcome(False, 73)


async def test_a_failed_call_is_no_step() -> None:
    async def fail(user: str) -> Completion:
        raise ModelError("server", "down")

    with pytest.raises(ModelError):
        await played(Bell(), fail, Task("", ""), Rules())


@pytest.mark.parametrize(
    ("outcome", "ended", "words"),
    [
        (Outcome(False, 50, 3, 1), "step_limit", "3 replies without an <action>"),
        (Outcome(False, 50, 40, 1), "unreadable", "most replies held no <action>"),
        (Outcome(False, 50, 1, 30), "unknown_commands", "none of those"),
    ],
)
def test_failures_are_told_apart(outcome: Outcome, ended: str, words: str) -> None:
    benchmark = Alfworld.configured({})
    item = benchmark.item({"id": "1", "gamefile": str(GAME), "task_type": "pick_and_place_simple"}, "val")
    score = benchmark.score(item, Attempt(str(outcome), ()))
    assert (score.hard, score.soft, score.detail["ended"]) == (0.0, 0.0, ended)
    assert words in score.detail["fail_reason"]
    assert score.detail["unreadable_replies"] == outcome.unreadable


def tree(root: Path) -> Path:
    """A published tree with one game in each split."""
    for part in ("train", "valid_seen", "valid_unseen"):
        place = root / "json_2.1.1" / part / f"pick_heat_then_place_in_recep-Mug-None-Desk-{len(part)}" / "trial_T1"
        place.mkdir(parents=True)
        game = json.loads(GAME.read_text())
        (place / "game.tw-pddl").write_text(json.dumps(game | {"note": part}))
    return root


def manifest(folder: Path, root: Path) -> Path:
    games = sorted(root.rglob("game.tw-pddl"))
    for split, game in zip(("test", "train", "val"), games, strict=True):
        (folder / split).mkdir(parents=True)
        row = {"id": f"{split}:0000", "gamefile": game.relative_to(root).as_posix()}
        (folder / split / "items.json").write_text(json.dumps([row]))
    return folder


def test_the_published_tree_is_read_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("textworld")
    root = tree(tmp_path / "data")
    benchmark = Alfworld.configured({}).within({"ALFWORLD_DATA": str(root)})
    for place in ("$ALFWORLD_DATA/json_2.1.1", str(root), ""):
        splits = benchmark.load(DataSource("split_dir", place))
        assert [item.id for item in splits.test] == ["valid_unseen:0000"]
        assert splits.train[0].kind == "pick_heat_then_place_in_recep"


def test_a_manifest_finds_its_games_below_the_data_root(tmp_path: Path) -> None:
    pytest.importorskip("textworld")
    root = tree(tmp_path / "data")
    source = DataSource("split_dir", str(manifest(tmp_path / "split", root)))
    by_option = Alfworld.configured({"data_root": str(root)}).load(source)
    by_variable = Alfworld.configured({}).within({"ALFWORLD_DATA": str(root)}).load(source)
    assert by_option.digests() == by_variable.digests()
    shutil.copytree(root / "json_2.1.1", tmp_path / "split" / "json_2.1.1")
    assert Alfworld.configured({}).load(source).digests() == by_option.digests()


def test_missing_games_say_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("textworld")
    split = manifest(tmp_path / "split", tree(tmp_path / "data"))
    with pytest.raises(DataError, match=r"(?s)does not exist.*alfworld-download.*--mini"):
        Alfworld.configured({"data_root": str(tmp_path / "elsewhere")}).load(DataSource("split_dir", str(split)))


def test_an_item_is_named_by_its_game_and_not_by_its_place(tmp_path: Path) -> None:
    benchmark, copy, other = Alfworld.configured({}), tmp_path / "a.tw-pddl", tmp_path / "b.tw-pddl"
    shutil.copy(GAME, copy)
    other.write_text(GAME.read_text().replace("Lamp_bar_2", "Lamp_bar_3"))

    def digest(path: Path) -> str:
        return benchmark.item({"id": "1", "gamefile": str(path), "task_type": "pick_and_place"}, "val").digest

    assert digest(GAME) == digest(copy) != digest(other)


@pytest.mark.parametrize("content", ["[]", '{"grammar": ""}', "not json"])
def test_a_file_that_is_no_game_is_refused(content: str, tmp_path: Path) -> None:
    bad = tmp_path / "game.tw-pddl"
    bad.write_text(content)
    with pytest.raises(ValueError, match="game"):
        Alfworld.configured({}).item({"id": "1", "gamefile": str(bad), "task_type": "pick_and_place"}, "val")


def test_the_reference_tells_the_solution_and_the_task_does_not(tmp_path: Path) -> None:
    path = tree(tmp_path) / "json_2.1.1/train/pick_heat_then_place_in_recep-Mug-None-Desk-5/trial_T1/game.tw-pddl"
    notes = {
        "turk_annotations": {"anns": [{"task_desc": "Warm a mug.", "high_descs": ["Walk to the shelf."]}]},
        "plan": {"high_pddl": [{"discrete_action": {"action": "GotoLocation", "args": ["shelf"]}}]},
    }
    path.with_name("traj_data.json").write_text(json.dumps(notes))
    benchmark = Alfworld.configured({})
    item = benchmark.item({"id": "1", "gamefile": str(path)}, "train")
    told = benchmark.reference(item)
    assert all(word in told for word in ("Warm a mug.", "Walk to the shelf.", "GotoLocation shelf", "press lamp 1"))
    assert "press lamp" not in benchmark.task(item, "").user and benchmark.describe(item) == "light both lamps"
