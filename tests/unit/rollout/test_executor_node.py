from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skillopt import app, chosen
from skillopt.agents.function import FunctionAgent
from skillopt.config.load import Override
from skillopt.envs.base import Benchmark
from skillopt.envs.searchqa.adapter import SearchQA, SearchQAOptions
from skillopt.errors import BudgetExhausted, DataError, ModelError, SkillOptError
from skillopt.rollout.executors import node
from skillopt.rollout.executors.base import Recipe
from skillopt.rollout.executors.letters import Door, Trouble
from skillopt.rollout.executors.node import Parcel, Voice, attempted
from skillopt.testing.world import make_items
from skillopt.types import Attempt, Item

CONFIG = Path(__file__).parents[3] / "configs" / "searchqa" / "default.yaml"
BENCHMARK = SearchQA(SearchQAOptions())
ITEM = BENCHMARK.item(make_items(1, 1, "train")[0], "train")


@pytest.fixture(autouse=True)
def a_fresh_node() -> Iterator[None]:
    yield
    node._loop().close()
    node._loop.cache_clear()
    node._bench.cache_clear()


@dataclass
class Made:
    times: list[int] = field(default_factory=list)

    def __call__(self, environ: Mapping[str, str]) -> Benchmark:
        self.times.append(1)
        return BENCHMARK


def parcel(function, item: Item = ITEM) -> Parcel:
    door = Door("target", "model", "1", mailbox=None)
    return Parcel(item, FunctionAgent(function), door, door, Voice())


def test_a_node_makes_the_benchmark_once_and_lends_it_to_every_attempt() -> None:
    made = Made()
    recipe = Recipe(made)
    for _ in range(3):
        outcome = attempted(recipe, "# Skill", parcel(lambda system, user: "<answer>x</answer>"))
        assert isinstance(outcome, Attempt) and outcome.answer == "<answer>x</answer>"
        assert "# Skill" in outcome.trajectory[0].text
    assert made.times == [1]


def _without_a_file(system: str, user: str) -> str:
    try:
        return Path("/data/page-7.png").read_text()
    except OSError as error:
        raise SkillOptError("the image cannot be read") from error


def _broke(system: str, user: str) -> str:
    raise BudgetExhausted("no room")


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (_without_a_file, DataError, r"needs the file /data/page-7\.png, which node .* does not have.*shared file"),
        (_broke, BudgetExhausted, "no room"),
        (lambda system, user: 1 / 0, ModelError, "ZeroDivisionError"),
    ],
)
def test_what_goes_wrong_on_a_node_comes_home_in_words(function, kind: type, words: str) -> None:
    outcome = attempted(Recipe(Made()), "", parcel(function))
    assert isinstance(outcome, Trouble)
    with pytest.raises(kind, match=words):
        raise outcome.error


def test_a_bug_names_the_item_and_the_node_and_another_version_is_refused() -> None:
    broken = Item.make("i7", "train", "qa", {})
    bug = attempted(Recipe(Made()), "", parcel(str, broken))
    assert isinstance(bug, Trouble) and "item 'i7' failed on node" in str(bug.error)
    other = attempted(Recipe(Made(), version="0.0.1"), "", parcel(str))
    assert isinstance(other, Trouble) and "install the same version on every node" in str(other.error)


def test_a_recipe_makes_the_same_benchmark_and_holds_no_credential(tmp_path: Path) -> None:
    given = {"model.azure_openai_api_key": "sk-secret", "env.max_completion_tokens": 99, "env.executor": "ray"}
    config = app.load(CONFIG, [Override(key, value, "test") for key, value in given.items()]).config
    sent = pickle.dumps(chosen.recipe_of(config, tmp_path, None))
    assert b"sk-secret" not in sent
    recipe = pickle.loads(sent)
    made = recipe.make({})
    assert made.task(ITEM, "# S") == chosen.benchmark_of(config, tmp_path).task(ITEM, "# S")
    assert made.task(ITEM, "").max_tokens == 99
