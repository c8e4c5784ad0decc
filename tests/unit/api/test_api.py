"""`skillopt.train` and `skillopt.evaluate` with functions and rows: in a script, inside a loop, stopped and resumed."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

import skillopt
from skillopt.errors import ConfigError, ResumeRefused, SkillOptError, StageStopped
from skillopt.testing.server import LoopbackServer
from skillopt.testing.tickets import SKILL, TEAMS, Tickets, make_tickets, subject, write_examples

ROOT = Path(__file__).parents[3]
ROWS = [dict(row) for row in make_tickets(60)]
WORLD = Tickets(0)


def target(skill: str, ticket: str) -> str:
    return WORLD.reply(skill, ticket)


def optimizer(system: str, user: str) -> str:
    return WORLD.reply(system, user)


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if "OPENAI" in name]:
        monkeypatch.delenv(name)


def train(**changes: object):
    given = {"skill": SKILL, "data": ROWS, "target": target, "optimizer": optimizer, "epochs": 1, "workers": 4}
    return skillopt.train(**{**given, **changes})  # type: ignore[arg-type]


def test_functions_and_rows_are_enough(tmp_path: Path) -> None:
    result = train()
    assert result.skill.startswith("---\nname: ticket-routing\n") and "go to harbour" in result.skill
    assert result.lift is not None and result.before is not None and result.after is not None
    assert result.lift.value == pytest.approx(result.after.value - result.before.value)
    assert 0 < result.lift.low <= result.lift.value <= result.lift.high <= 1
    assert result.lift.n == result.after.n == 24
    assert result.history[0].action == "accept_new_best" and result.validation_after > result.validation_before
    assert result.usage.calls > 60 and result.run_dir.is_dir() and result.run_dir.parts[:2] == ("outputs", "own")
    assert "+- Tickets about" in result.diff and "test lift" in str(result)
    assert result.save(tmp_path / "out.md").read_text() == result.skill
    with pytest.raises(AttributeError):
        result.skill = ""  # type: ignore[misc]


async def test_inside_a_running_loop_with_a_coroutine_as_target() -> None:
    async def agent(skill: str, ticket: str) -> str:
        await asyncio.sleep(0)
        return target(skill, ticket)

    assert train(target=agent).lift.value > 0.3


def test_a_score_function_and_pairs() -> None:
    def nearly(output: str, answer: str) -> float:
        return 1.0 if output == answer else 0.25

    pairs = [(row["ticket"], row["team"]) for row in ROWS]
    rows = skillopt.evaluate(skill=SKILL, data=ROWS, score=nearly, target=target, optimizer=optimizer, split="test")
    result = skillopt.evaluate(skill=SKILL, data=pairs, score=nearly, target=target, optimizer=optimizer, split="test")
    assert result.metric == "soft" and result.score is not None and result.score.n == len(result.items) == 24
    assert result.score.low < result.score.value < result.score.high
    assert {item.score for item in result.items} == {0.25, 1.0}
    assert any("gave 0.25" in item.note for item in result.items)
    assert rows.score == result.score, "the answer column is found, though a function could do without"


def test_splits_of_ones_own() -> None:
    data = {"train": ROWS[:20], "val": ROWS[20:40], "test": ROWS[40:]}
    assert train(data=data).after.n == 20
    with pytest.raises(ConfigError, match="val is missing"):
        train(data={"train": ROWS, "test": ROWS})


def test_a_rubric_is_graded_by_the_optimizer() -> None:
    result = train(score="judge", rubric="Names the team that deals with it.")
    assert result.metric == "soft" and result.lift.value > 0.3
    assert result.view.usage["judge"].calls > 60


def test_a_model_by_name_beside_a_function() -> None:
    with LoopbackServer.in_thread(Tickets(0)) as server:
        settings = {"model.azure_openai_endpoint": server.url}
        one = train(optimizer="gpt-5.5", settings=settings)
        other = train(target="gpt-5.5", settings=settings)
    assert one.after.value > one.before.value and other.skill == one.skill


def test_a_function_and_the_miner_need_no_model_at_all() -> None:
    def by_example(skill: str, ticket: str) -> str:
        shown = (example for example in skill.split("Input:")[1:] if subject(example) == subject(ticket))
        return next((example.split("Output:")[1].split()[0] for example in shown), "gatehouse")

    result = train(target=by_example, optimizer="miner", skill="# Routing\n")
    assert result.lift.low > 0 and "Output: ledger" in result.skill
    assert result.usage.unpriced == result.usage.calls, "what a function spends is not known"


def test_an_agent_that_always_fails_stops_the_run_and_says_why() -> None:
    def broken(skill: str, ticket: str) -> str:
        raise RuntimeError("no such tool")

    with pytest.raises(StageStopped, match=r"function_error.*RuntimeError: no such tool \(test_api.py, line \d+\)"):
        train(target=broken)


def test_a_broken_grader_stops_the_run() -> None:
    with pytest.raises(SkillOptError, match="the grader of own failed on item"):
        train(score=lambda output, answer: "good")


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    calls: list[str] = []
    fragile = {"left": 30}

    def agent(skill: str, ticket: str) -> str:
        if fragile["left"] == 0:
            raise RuntimeError("the machine went away")
        fragile["left"] -= 1
        calls.append(ticket)
        return target(skill, ticket)

    with pytest.raises(StageStopped):
        train(target=agent)
    fragile["left"] = 10_000
    made, calls[:] = len(calls), []
    result = train(target=agent)
    assert result.resumed and result.lift.value > 0.3
    whole = train(target=agent, fresh=True)
    assert len(list((tmp_path / "outputs" / "own").iterdir())) == 2
    assert whole.skill == result.skill and made == 30


def test_other_data_is_another_run_and_a_given_folder_refuses_it(tmp_path: Path) -> None:
    train(run_dir=tmp_path / "mine")
    with pytest.raises(ResumeRefused, match="data"):
        train(run_dir=tmp_path / "mine", data=ROWS[:50])


def test_a_skill_by_path_is_not_written(tmp_path: Path) -> None:
    write_examples(tmp_path, 60)
    result = train(skill="SKILL.md", data="examples.csv")
    assert (tmp_path / "SKILL.md").read_text() == SKILL and result.seed == SKILL


def test_a_configuration_file_still_does(tmp_path: Path) -> None:
    from skillopt.testing.world import write_split

    write_split(tmp_path / "split", 8, 4, 4, seed=1)
    with LoopbackServer.in_thread(seed=1) as server:
        settings = {
            "env.split_dir": str(tmp_path / "split"),
            "env.skill_init": "",
            "model.azure_openai_endpoint": server.url,
            "train.num_epochs": 1,
        }
        result = skillopt.train(ROOT / "configs/searchqa/default.yaml", settings)
        assert result.view.finished is not None
        (tmp_path / "s.md").write_text(result.skill)
        scored = skillopt.evaluate(ROOT / "configs/searchqa/default.yaml", tmp_path / "s.md", settings, split="test")
    assert scored.score is not None and scored.score.n == 4
    assert json.loads((scored.run_dir / "eval_summary.json").read_text())


def test_nothing_to_train_on() -> None:
    with pytest.raises(ConfigError, match="give data="):
        skillopt.train(skill=SKILL)
    with pytest.raises(ConfigError, match="belong to data="):
        skillopt.train("x.yaml", score="exact")
    with pytest.raises(ConfigError, match="give skill="):
        skillopt.evaluate(data=ROWS)


def test_the_world_itself() -> None:
    assert subject("my parcel is late") == "parcel" and set(TEAMS.values()) == {"harbour", "ledger", "gatehouse"}
