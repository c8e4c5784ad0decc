"""The bridge: what a batch-form rollout returns, hides, raises or leaves out, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillopt.datasets.base import BatchSpec, SplitDataLoader
from skillopt.datasets.checks import Splits
from skillopt.envs.base import DataSource, EnvAdapter
from skillopt.envs.bridge import Bridge, bridged
from skillopt.errors import BudgetExhausted, ConfigError, DataError, ModelError, PluginError, SkillOptError
from skillopt.model import chat_optimizer, chat_target
from skillopt.model.current import bind
from skillopt.model.gateway import build_gateway
from skillopt.model.retry import RetryPolicy
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import Item, RolloutResult, Turn

ROWS = [
    {"id": f"{split}/../{n}", "question": f"{split} question {n}?"}
    for split in ("train", "val", "test")
    for n in (1, 2, 3)
]


class Rows(EnvAdapter):
    """Plain lists, no loader; `answer` is what rollout does with one row."""

    answer: Callable[[dict, str, str], object] = staticmethod(lambda row, skill, out: {"hard": 1, "soft": 1})

    def build_train_env(self, batch_size, seed, **kwargs):
        raise AssertionError("nobody samples: the run plans its batches itself")

    def build_eval_env(self, env_num, split, seed, **kwargs):
        name = {"valid_seen": "val", "valid_unseen": "test"}.get(split, split)
        return [row for row in ROWS if row["id"].startswith(name)]

    def rollout(self, env_manager, skill_content, out_dir, **kwargs):
        found = [(row["id"], type(self).answer(row, skill_content, out_dir)) for row in env_manager]
        return [{"id": name, **row} if isinstance(row, dict) else row for name, row in found if row is not None]

    def get_task_types(self):
        return ["plain"]


def adapter(answer: Callable[[dict, str, str], object], **more: object) -> type[Rows]:
    return type("Mine", (Rows,), {"answer": staticmethod(answer), **more})


def loaded(cls: type[EnvAdapter], home: Path | None = None, **settings: object) -> tuple[Bridge, Splits]:
    kind = bridged(cls, "mine")
    bench = kind.for_run({}, settings, home) if home else kind({})
    return bench, bench.load(DataSource())


def model(answer: object = "yes"):
    def script(request):
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer

    return build_gateway(ScriptedProvider(script), policy=RetryPolicy(max_attempts=1))


async def attempted(cls: type[EnvAdapter], *, target: object = "yes", home: Path | None = None, **settings: object):
    bench, splits = loaded(cls, home, **settings)
    gateway = model(target)
    with bind(gateway, model("judged"), asyncio.get_running_loop()):
        found = await bench.attempt(splits.val[0], "# Skill", None)  # type: ignore[arg-type]
        return found, await bench.judged(splits.val[0], found, None)


def ask(row: dict, skill: str, out: str) -> dict:
    text, _ = chat_target(system=skill, user=row["question"])
    return {"hard": 0, "soft": 0.5, "predicted_answer": text, "fail_reason": "no", "seen": {1: "x"}}


async def test_a_row_becomes_a_score_a_trajectory_and_a_bill() -> None:
    found, judgement = await attempted(adapter(ask))
    assert found.answer == "yes" and found.usage.calls == 1
    assert found.trajectory == (Turn("system", "# Skill"), Turn("user", "val question 1?"), Turn("assistant", "yes"))
    assert (judgement.score.hard, judgement.score.soft) == (0.0, 0.5)
    assert judgement.score.detail == {"fail_reason": "no", "seen": {"1": "x"}}


async def test_a_judge_is_billed_apart_and_results_may_be_objects() -> None:
    def graded(row, skill, out):
        chat_target(skill, row["question"])
        chat_optimizer("judge", "?")
        return RolloutResult.from_dict({"id": row["id"], "hard": 0.25, "soft": 1, "n_turns": 3, "odd": 1})

    found, judgement = await attempted(adapter(graded))
    assert (found.usage.calls, judgement.usage.calls, found.turns) == (1, 1, 3)
    assert (judgement.score.hard, judgement.score.detail) == (0.25, {"odd": 1})


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"hard": 2, "soft": 0}, "hard = 2"),
        ({"hard": float("nan"), "soft": 0}, "hard = nan"),
        ({"hard": "1", "soft": 0}, "hard = '1'"),
        ({"hard": 1}, "no 'soft'"),
        ({"hard": True, "soft": -0.1}, "soft = -0.1"),
        ("nonsense", "a result is a dict"),
    ],
)
async def test_a_score_that_is_none_stops_the_run(row: object, words: str) -> None:
    with pytest.raises(SkillOptError, match=words) as caught:
        await attempted(adapter(lambda *_: row))
    assert not isinstance(caught.value, ModelError)


def hiding(**row: object) -> Callable[[dict, str, str], dict]:
    """A rollout that catches what its call raises, as many do."""

    def answer(item: dict, skill: str, out: str) -> dict:
        try:
            chat_target(skill, item["question"])
        except Exception as error:  # noqa: BLE001 - so do many
            return {"hard": 0, "soft": 0, "fail_reason": str(error), **row}
        return {"hard": 0, "soft": 0, **row}

    return answer


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda *_: None, "no_result"),
        (lambda *_: {"hard": 0, "soft": 0, "agent_ok": False, "phase": "timeout"}, "timeout"),
        (lambda *_: {"hard": 0, "soft": 0, "agent_ok": False, "phase": "error"}, "agent_failed"),
        (lambda *_: {"hard": 0, "soft": 0, "agent_ok": False}, "agent_failed"),
        (hiding(), "server"),
        (hiding(agent_ok=False), "server"),
        (ask, "server"),
        (lambda row, *_: {}[row["id"]], "rollout_error"),
    ],
    ids=["no row", "timeout", "error", "no call answered", "hidden", "hidden and said", "raised", "a bug"],
)
async def test_what_is_missing_is_not_a_zero(answer: Callable[..., object], kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        await attempted(adapter(answer), target=ModelError("server", "down"))
    assert caught.value.kind == kind


async def test_an_answer_that_was_heard_is_a_score_whatever_the_agent_felt() -> None:
    _, judgement = await attempted(adapter(hiding(agent_ok=False)))
    assert judgement.score.hard == 0
    _, judgement = await attempted(adapter(hiding(agent_ok=True)), target=ModelError("server", "down"))
    assert judgement.score.hard == 0


@pytest.mark.parametrize("error", [ModelError("auth", "no key"), BudgetExhausted("no money")])
async def test_an_error_that_ends_the_run_cannot_be_hidden(error: SkillOptError) -> None:
    def in_a_pool(row, skill, out):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(hiding(agent_ok=True), row, skill, out).result()

    def wrapped(row, skill, out):
        try:
            chat_target(skill, row["question"])
        except SkillOptError as inner:
            raise RuntimeError("it failed") from inner

    for answer in (hiding(), in_a_pool, wrapped):
        with pytest.raises(type(error), match=str(error)):
            await attempted(adapter(answer), target=error)


async def test_threads_of_its_own_find_the_run_and_are_told_apart() -> None:
    def pooled(row, skill, out):
        with ThreadPoolExecutor(2) as pool:
            return next(pool.map(lambda r: ask(r, skill, out), [row]))

    bench, splits = loaded(adapter(pooled))
    items = (*splits.val, *splits.test)
    gateway = model(lambda request: request.messages[-1].text[::-1])
    with bind(gateway, gateway, asyncio.get_running_loop()):
        found = await asyncio.gather(*(bench.attempt(item, "# Skill", None) for item in items))  # type: ignore[arg-type]
    assert [attempt.answer for attempt in found] == [str(item.data["question"])[::-1] for item in items]
    assert [attempt.usage.calls for attempt in found] == [1] * 6
    assert all(a.trajectory[1].text == i.data["question"] for a, i in zip(found, items, strict=True))


async def test_a_hung_rollout_is_given_up_and_calls_no_more() -> None:
    go, late = threading.Event(), []

    def slow(row, skill, out):
        go.wait(5)
        try:
            chat_target(skill, "too late")
        except SkillOptError as error:
            late.append(str(error))

    with pytest.raises(ModelError, match=r"within 0\.02 s"):
        await attempted(adapter(slow), exec_timeout=0.01, retry_deadline_seconds=0.01, home=Path("/tmp"))
    go.set()
    for _ in range(100):
        if late:
            break
        await asyncio.sleep(0.01)
    assert late == ["the attempt this call belongs to has ended"]


async def test_every_attempt_has_a_fresh_folder_inside_the_run(tmp_path: Path) -> None:
    folders: list[Path] = []

    def writes(row, skill, out):
        folders.append(Path(out))
        assert not list(Path(out).iterdir())
        (Path(out) / "results.jsonl").write_text("{}")
        row["question"] = "changed"
        return {"hard": 1, "soft": 1}

    bench, splits = loaded(adapter(writes), tmp_path)
    for _ in range(2):
        await bench.attempt(splits.val[0], "# Skill", None)  # type: ignore[arg-type]
    assert len(set(folders)) == 2 and all(f.parent == tmp_path / "adapter_files" for f in folders)
    assert splits.val[0].data["question"] == "val question 1?"


async def test_the_conversation_is_read_in_all_its_forms(tmp_path: Path) -> None:
    events = [
        {"role": "user", "content": "Q"}, {"type": "tool_call", "cmd": "ls", "obs": ["a"]},
        {"step": 1, "action": "go", "env_feedback": "wall", "reasoning": "try"},
        {"role": "system", "content": "wrong"}, {"content": "hm"}, "bye", {"role": "user", "content": None},
    ]  # fmt: skip

    def writes(row, skill, out):
        place = Path(out, "predictions", "as the adapter likes")
        place.mkdir(parents=True)
        (place / "conversation.json").write_text(json.dumps(events))
        (place / "target_user_prompt.txt").write_text("Q")
        (place / "target_system_prompt.txt").write_text("S")
        (place / "spreadsheet_preview.txt").write_text("A1")
        return {"hard": 1, "soft": 1, "predicted_answer": "bye"}

    found, judgement = await attempted(adapter(writes), home=tmp_path)
    assert [(turn.role, turn.text) for turn in found.trajectory] == [
        ("system", "S"), ("user", "Q"), ("action", "ls"), ("observation", '["a"]'), ("assistant", "try"),
        ("action", "go"), ("observation", "wall"), ("verdict", "wrong"), ("assistant", "hm"), ("assistant", "bye"),
    ]  # fmt: skip
    assert judgement.score.detail == {"spreadsheet_preview": "A1"}


async def test_whole_batches_one_at_a_time_for_who_asks_for_them() -> None:
    calls, under_way = [], []

    class Batches(Rows):
        items_per_rollout = 2

        def rollout(self, env_manager, skill_content, out_dir, **kwargs):
            assert not under_way
            under_way.append(1)
            calls.append([row["id"] for row in env_manager])
            chat_target(skill_content, "all of them")
            under_way.pop()
            return [{"id": row["id"], "hard": 1, "soft": 1} for row in env_manager if not row["id"].endswith("3")]

    bench, splits = loaded(Batches)
    wanted = [splits.val[0], splits.val[0], splits.val[1], splits.test[0], splits.val[2]]
    gateway = model(lambda _: "yes")
    with bind(gateway, gateway, asyncio.get_running_loop()):
        asked = (bench.attempt(item, "# Skill", None) for item in wanted)  # type: ignore[arg-type]
        found = await asyncio.gather(*asked, return_exceptions=True)
    ids = [item.id for item in wanted]
    assert calls == [[ids[0], ids[2]], [ids[1], ids[4]], [ids[3]]]
    assert isinstance(found[4], ModelError) and found[4].kind == "no_result"
    assert sum(a.usage.calls for a in found[:4]) == 3  # type: ignore[union-attr]


class Loader(SplitDataLoader):
    def setup(self, cfg):
        self.train_items, self.val_items, self.test_items = (
            [row for row in ROWS if row["id"].startswith(s)] for s in ("train", "val", "test")
        )


class Sealed:
    """An environment that is no list."""

    def __init__(self, batch: BatchSpec) -> None:
        self.batch = batch


class Opaque(Rows):
    def __init__(self) -> None:
        self.loader = Loader()

    def setup(self, cfg):
        self.loader.setup(cfg)

    def get_dataloader(self):
        return self.loader

    def build_train_env(self, batch_size, seed, **kwargs):
        return Sealed(self.loader.build_train_batch(batch_size, seed))

    def build_eval_env(self, env_num, split, seed, **kwargs):
        return Sealed(self.loader.build_eval_batch(env_num, split, seed))

    def rollout(self, env_manager, skill_content, out_dir, **kwargs):
        return super().rollout(env_manager.batch.payload, skill_content, out_dir)


async def test_an_environment_of_any_kind_holds_the_item_that_is_meant() -> None:
    class Exact(Opaque):
        def build_train_env(self, batch_size, seed, **kwargs):
            raise AssertionError

        build_eval_env = build_train_env

        def build_env_from_batch(self, batch, **kwargs):
            assert (batch.phase, batch.batch_size) == ("train" if batch.split == "train" else "eval", 1)
            return Sealed(batch)

    for cls in (Opaque, Exact):
        bench, splits = loaded(cls)
        for item in (*splits.train, *splits.test):
            assert (await bench.attempt(item, "", None)).trajectory[0].text  # type: ignore[arg-type]


def test_settings_are_what_the_constructor_names() -> None:
    class Named(Rows):
        def __init__(self, depth: int, workers: int = 1, edit_budget: int = 1, mode: str = "a", **rest: object) -> None:
            self.given = (depth, workers, edit_budget, mode, rest)

    kind = bridged(Named, "named")
    assert set(kind.Config.model_fields) == {"depth", "mode"}
    bench = kind.for_run({"depth": 3}, {"workers": 7, "edit_budget": 4, "other": 1}, Path("/tmp"))
    bench.load(DataSource())
    assert bench._ready.adapter.given == (3, 7, 4, "a", {})  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="depth"):
        kind.configured({"mode": "b"})
    with pytest.raises(ConfigError, match="dept"):
        kind.configured({"depth": 1, "dept": 2})


def test_what_cannot_be_driven_is_refused_before_anything_is_paid() -> None:
    class Half(EnvAdapter):
        def rollout(self, env_manager, skill_content, out_dir, **kwargs):
            return []

    class Odd(Rows):
        def get_dataloader(self):
            return object()

    class Closed(Rows):
        def build_eval_env(self, env_num, split, seed, **kwargs):
            return object()

    class Broken(Rows):
        def setup(self, cfg):
            raise FileNotFoundError("no data here")

    ray = type("Ray", (Rows,), {"requires_ray": lambda self: True})
    for cls, error, words in (
        (Half, PluginError, "does not define build_eval_env, build_train_env, get_task_types"),
        (Odd, PluginError, "build_env_from_batch"),
        (Closed, DataError, "no list of rows"),
        (Broken, DataError, "no data here"),
        (ray, PluginError, "Ray"),
    ):
        with pytest.raises(error, match=words):
            loaded(cls)


def test_a_plain_prompt_becomes_the_system_text_of_ours() -> None:
    words = 'Say {% endraw %} {{ "x" }} "quoted" \\n 𝔘\nand more.'

    class Prompted(Rows):
        def get_error_minibatch_prompt(self):
            return words

    values = {
        "skill": "S", "guidance": "", "appendix": "", "memory": "", "previous_steps": "", "budget": 2, "unit": "edits",
        "skill_aware": False, "show_reference": False, "count": 1, "trajectories": "T",
    }  # fmt: skip
    prompts = loaded(Prompted)[0].prompts
    shown = prompts.render("analyst_error", **values)
    assert shown.system.strip() == words and "Failed trajectories (1)" in shown.user
    assert "Success analyst" in prompts.render("analyst_success", **values).system
    assert prompts.digests()["analyst_error"] != loaded(Rows)[0].prompts.digests()["analyst_error"]


def test_the_hooks_of_the_guide_s_base_class() -> None:
    mine = Rows()
    items = [{"id": i, "task_type": "ab"[i % 2], "reference_text": f" ref {i} "} for i in range(6)]
    results = [{"id": str(i), "hard": int(i > 3)} for i in range(6)]
    assert mine.build_reference_text(items[1]) == "ref 1"
    assert mine.get_reference_metadata(items[1]) == {"fields": ["reference_text"], "preview": "ref 1"}
    assert mine.attach_reference_context(results, items)[2]["reference_text"] == "ref 2"
    chosen = mine.select_representative_items(results, items, 2, 1, seed=1)
    assert len(chosen) == 3 and {item["task_type"] for item in chosen[:2]} == {"a", "b"} and chosen[2]["id"] > 3
    assert chosen == mine.select_representative_items(results, items, 2, 1, seed=1)
    with pytest.raises(SkillOptError, match="training run"):
        mine.reflect([], "", "")


def test_ids_may_be_anything() -> None:
    _, splits = loaded(Rows)
    assert [item.id for item in splits.val] == ["val/../1", "val/../2", "val/../3"]
    assert {item.kind for item in splits.val} == {"plain"} and isinstance(splits.val[0], Item)
