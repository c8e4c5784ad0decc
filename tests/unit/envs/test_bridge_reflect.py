"""An adapter's own reflect: its patches are recorded one by one, and `super().reflect` asks the run's analysts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.envs.batch import EnvAdapter
from skillopt.envs.bridging.calls import Rolling
from skillopt.envs.bridging.reflecting import Reflecting, overrides_reflect
from skillopt.errors import ModelError, SkillOptError, StageStopped
from skillopt.gradient.adapter_reflect import AdapterReflect, adapter_analysts
from skillopt.gradient.reflect import Reflect, ReflectSettings
from skillopt.types import Item


class Plain(EnvAdapter):
    def build_train_env(self, batch_size, seed, **kwargs): ...
    def build_eval_env(self, env_num, split, seed, **kwargs): ...
    def rollout(self, env_manager, skill_content, out_dir, **kwargs): ...
    def get_task_types(self): ...


def patch(content: str, **more: object) -> dict:
    return {"patch": {"reasoning": "r", "edits": [{"op": "append", "content": content}]}, **more}


async def stream(rollouts):
    for rollout in rollouts:
        yield rollout


def analysts(script, adapter: EnvAdapter) -> AdapterReflect:
    rolling = Rolling(adapter, "mine", 0, 5.0)
    items = {id: Item.make(id, "train", "qa", {"id": id, "reference_text": f"ref {id}"}) for id in ("a", "b", "../c")}
    return AdapterReflect(script.desk, Reflecting(adapter, rolling), Reflect(script.desk, ReflectSettings()), items, 40)


async def test_patches_are_pooled_and_a_second_start_calls_nobody(script, context, rollout):
    calls = []

    class Own(Plain):
        def reflect(self, results, skill_content, out_dir, **kwargs):
            calls.append(kwargs)
            assert [(row["id"], row["hard"], row["reference_text"]) for row in results] == [
                ("a", 0.0, "ref a"), ("b", 1.0, "ref b"), ("../c", 0.0, "ref ../c"),
            ]  # fmt: skip
            assert results[0]["fail_reason"] == "why" and skill_content.startswith("# Skill")
            told = json.loads(Path(kwargs["prediction_dir"], "a", "conversation.json").read_text())
            assert told[-1] == {"role": "assistant", "content": "hello"}
            assert {f.parent.parent for f in Path(out_dir).rglob("conversation.json")} == {
                Path(kwargs["prediction_dir"])
            }
            Path(kwargs["patches_dir"], "mine.json").write_text("{}")
            success = patch("- Two.", source_type="success")
            return [patch("- One.", items=["a"]), None, success, {"nonsense": 1}, {"edits": [{"content": "- Bare."}]}]

    rows = [rollout("a", fail_reason="why"), rollout("b", 1.0), rollout("../c")]
    found = await analysts(script, Own())(context, stream(rows))
    assert [(r.source, r.items, [e.content for e in r.patch.edits]) for r in found] == [
        ("failure", ("a",), ["- One."]),
        ("success", ("b",), ["- Two."]),
        ("failure", ("a", "../c"), []),
        ("failure", ("a", "../c"), ["- Bare."]),
    ]
    assert found[2].lost and found[0].patch.edits[0].support == ("a",) and calls[0]["random_seed"] == 42
    assert [script.records[f"e01s02/reflect/own/{i}"].index for i in range(4)] == [0, 1, 2, 3]
    del script.records["e01s02/reflect/own/3"]
    assert await analysts(script, Own())(context, stream(rows)) == found and len(calls) == 2
    assert await analysts(script, Own())(context, stream(rows)) == found and len(calls) == 2


async def test_super_asks_the_run_s_analysts_and_pays_once(script, context, rollout):
    class Filtered(Plain):
        def reflect(self, results, skill_content, out_dir, **kwargs):
            failed = [row for row in results if not row["hard"]]
            found = super().reflect(failed, skill_content, out_dir, **kwargs)
            assert [p["source_type"] for p in found] == ["failure"]
            return found

    script.reply = lambda title, user: patch("- Check.", failure_summary=[{"failure_type": "unit", "items": ["a"]}])
    found = await analysts(script, Filtered())(context, stream([rollout("a"), rollout("b", 1.0)]))
    assert [r.patch.edits[0].content for r in found] == ["- Check."] and found[0].patterns[0].name == "unit"
    assert found[0].usage.calls == 1 and len(script.calls) == 1
    assert set(script.records) == {"e01s02/reflect/started", "e01s02/reflect/own/0"}


async def test_nothing_is_an_answer(script, context, rollout):
    silent = type("Silent", (Plain,), {"reflect": lambda self, *_, **__: None})
    (only,) = await analysts(script, silent())(context, stream([rollout("a")]))
    assert not only.patch.edits and only.lost is None and "e01s02/reflect/own/0" in script.records


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ModelError("server", "down"), StageStopped, "continues here"),
        (KeyError("x"), SkillOptError, r"reflect of mine failed: KeyError: 'x' \(test_bridge_reflect.py, line"),
    ],
)
async def test_what_it_raises_stops_the_run(script, context, rollout, error, kind, words):
    class Raising(Plain):
        def reflect(self, results, skill_content, out_dir, **kwargs):
            raise error

    with pytest.raises(kind, match=words):
        await analysts(script, Raising())(context, stream([rollout("a")]))
    assert not [key for key in script.records if "/own/" in key]


def test_only_an_adapter_that_overrides_reflect_has_analysts_of_its_own(script):
    from skillopt.envs.searchqa.adapter import SearchQA

    assert not overrides_reflect(Plain())
    assert adapter_analysts(SearchQA.configured({}), Reflect(script.desk), (), 0) is None
