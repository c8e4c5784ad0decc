from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.agents.base import Task
from skillopt.config import load_config
from skillopt.envs.base import DataSource, grader_problems
from skillopt.envs.livemathematicianbench.adapter import LiveMath
from skillopt.envs.livemathematicianbench.guessing import guessable, shares
from skillopt.envs.livemathematicianbench.options import letters
from skillopt.errors import ConfigError, DataError
from skillopt.prompts import Prompts
from skillopt.testing.mini_livemath import write_livemath
from skillopt.types import Attempt, Item, Turn, Usage

RAW = {
    "no": 3,
    "month": "202601",
    "theorem": "the theorem's words",
    "sketch": "the sketch's words",
    "theorem_type": ["Existence", "Universal"],
    "mcq": {
        "question": "Which holds?",
        "choices": [{"label": label, "text": f"text {label}"} for label in "BCDE"],
        "correct_choice": {"label": "A", "text": "text A"},
    },
}
FLAT = {"id": "x", "question": "Which holds?", "choices": ["one", "two", "three"], "correct_choice": {"label": "B"}}
CONFIGS = Path(__file__).parents[3] / "configs"


def bench(**options: object) -> LiveMath:
    made = LiveMath.configured(options)
    assert isinstance(made, LiveMath)
    return made


def shown(item: Item) -> list[tuple[str, str]]:
    return [(choice["label"], choice["text"]) for choice in item.data["choices"]]


def test_a_published_row_becomes_an_item() -> None:
    item = bench(shuffle_choices=False).item(RAW, "val")
    assert (item.id, item.kind) == ("202601:3", "Existence")
    assert shown(item) == [(label, f"text {label}") for label in "ABCDE"]
    assert item.data["correct_choice"] == {"label": "A", "text": "text A"}
    assert set(item.data) == {
        "id", "month", "no", "paper_link", "theorem", "sketch", "theorem_type", "question", "choices", "correct_choice",
    }  # fmt: skip


def test_a_normalised_row_is_the_same_item() -> None:
    item = bench().item(RAW, "val")
    plain = bench(shuffle_choices=False).item(RAW, "val")
    assert bench().item(dict(plain.data), "val") == item


@pytest.mark.parametrize(
    "choices",
    [
        ["one", "two"],
        [{"label": "a.", "text": "one"}, {"label": "(b"[1:], "content": "two"}],
        [{"text": "one"}, {"content": "two"}],
        {"A": "one", "B)": "two"},
    ],
)
@pytest.mark.parametrize("correct", [{"label": " b). "}, {"label": "B", "text": " two "}, "b:", "B"])
def test_choices_and_the_correct_one_may_be_written_in_many_ways(choices: object, correct: object) -> None:
    row = {**FLAT, "choices": choices, "correct_choice": correct}
    item = bench(shuffle_choices=False).item(row, "val")
    assert shown(item) == [("A", "one"), ("B", "two")]
    assert item.data["correct_choice"] == {"label": "B", "text": "two"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": " "}, "no question"),
        ({"choices": []}, "no choices"),
        ({"choices": None}, "no choices"),
        ({"choices": "one, two"}, "no choices"),
        ({"correct_choice": None}, "no correct label"),
        ({"correct_choice": {"text": "two"}}, "no correct label"),
        ({"correct_choice": "F"}, "'F' is not among the choices, and has no text"),
        ({"correct_choice": {"label": "B", "text": "three"}}, "not the same text"),
        ({"choices": ["one"], "correct_choice": "A"}, "at least two"),
        ({"choices": ["one", ""]}, "'B' has no text"),
        ({"choices": ["one", "two", "one"]}, "same text: 'one'"),
        ({"choices": [{"label": "B", "text": "one"}, {"label": "B", "text": "two"}]}, "same label: 'B'"),
    ],
)
def test_a_row_that_cannot_be_asked_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bench().item({**FLAT, "correct_choice": "B", **change}, "val")


def test_the_order_comes_from_the_seed_and_the_id_alone() -> None:
    one = bench().item({**RAW, "option_seed": 1}, "val")
    assert shown(bench().item({**RAW, "option_seed": 1}, "test")) == shown(one)
    others = [bench().item({**RAW, "option_seed": 1, "id": str(i)}, "val") for i in range(20)]
    seeds = [bench().item({**RAW, "option_seed": i}, "val") for i in range(20)]
    for items in (others, seeds):
        assert len({tuple(text for _, text in shown(item)) for item in items}) > 5
        assert {item.data["correct_choice"]["text"] for item in items} == {"text A"}
    assert [label for label, _ in shown(one)] == list("ABCDE")
    assert sorted(text for _, text in shown(one)) == [f"text {label}" for label in "ABCDE"]


def test_there_may_be_any_number_of_options() -> None:
    choices = [f"statement {i}" for i in range(60)]
    items = [bench().item({**FLAT, "id": str(i), "choices": choices, "correct_choice": "BC"}, "val") for i in range(5)]
    assert {item.data["correct_choice"]["text"] for item in items} == {"statement 54"}
    assert grader_problems(bench(), items) == ()
    assert letters(705)[25:28] == ("Z", "AA", "AB") and letters(705)[-3:] == ("AAA", "AAB", "AAC")


def test_a_letter_in_an_option_follows_the_option_it_names() -> None:
    row = {**FLAT, "choices": ["one", "as option A, but stronger", "Choice (B) with option Z"], "correct_choice": "A"}
    for i in range(6):
        texts = dict(shown(bench().item({**row, "id": str(i)}, "val")))
        at = {text.split()[0]: label for label, text in texts.items()}
        assert texts[at["as"]] == f"as option {at['one']}, but stronger"
        assert texts[at["Choice"]] == f"Choice ({at['as']}) with option Z"


def test_the_task_shows_question_and_options_and_nothing_of_the_solution() -> None:
    item = bench().item(RAW, "val")
    task = bench().task(item, "a rule")
    assert "Which holds?" in task.user and all(f"{label}. {text}" in task.user for label, text in shown(item))
    assert "words" not in task.user + task.system
    assert task.system.count("## Skill") == 1 and "## Skill" not in bench().task(item, " ").system
    assert task.max_tokens == 16384


def test_theorem_and_sketch_are_for_analysts_unless_asked_for() -> None:
    item = bench().item(RAW, "val")
    assert bench().reference(item) == "Theorem:\nthe theorem's words\n\nSketch of the proof:\nthe sketch's words"
    assert bench().reference(bench().item(FLAT, "val")) == ""
    with_theorem, with_sketch = bench(use_theorem=True).task(item, "").user, bench(use_sketch=True).task(item, "").user
    assert "theorem's words" in with_theorem and "sketch's words" not in with_theorem
    assert "sketch's words" in with_sketch and "theorem's words" not in with_sketch
    assert "theorem behind" not in bench(use_theorem=True, use_sketch=True).task(bench().item(FLAT, "val"), "").user


def test_the_baseline_shows_the_options_alone_and_is_scored_alike() -> None:
    b = bench(hide_question=True)
    item = b.item(RAW, "val")
    user = b.task(item, "").user
    assert "Which holds?" not in user and all(text in user for _, text in shown(item))
    assert item == bench().item(RAW, "val") and grader_problems(b, [item]) == ()
    with pytest.raises(ConfigError, match="use_theorem"):
        bench(hide_question=True, use_theorem=True)


@pytest.mark.parametrize(
    ("reply", "hard", "label", "reason"),
    [
        ("so <answer>B</answer>", 1.0, "B", None),
        ("so <answer>two</answer>", 1.0, "B", None),
        ("so <answer>C</answer>", 0.0, "C", "wrong: chose option C"),
        ("so <answer>B or C</answer>", 0.0, "", "ambiguous: the answer names options B and C; it must choose one"),
        ("", 0.0, "", "no answer"),
    ],
)
def test_hard_and_soft_are_whether_the_label_is_right(reply: str, hard: float, label: str, reason: str | None) -> None:
    b = bench(shuffle_choices=False)
    score = b.score(b.item(FLAT, "val"), Attempt(reply, ()))
    assert (score.hard, score.soft) == (hard, hard)
    assert score.detail["predicted_label"] == label and score.detail.get("fail_reason") == reason
    texts = {"B": "two", "C": "three", "": ""}
    assert score.detail["predicted_text"] == texts[label]
    assert (score.detail["correct_label"], score.detail["correct_text"]) == ("B", "two")
    assert score.detail["question"] == "Which holds?" and "predicted_answer" in score.detail


class Replies:
    offers = frozenset()

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.tasks: list[Task] = []

    async def run(self, task: Task) -> Attempt:
        self.tasks.append(task)
        text = self.texts.pop(0)
        return Attempt(text, (Turn("system", "s"), Turn("user", task.user), Turn("assistant", text)), Usage(calls=1))

    async def chat(self, messages, *, max_tokens, timeout, tools=()):
        raise AssertionError("not used")


async def test_a_later_turn_keeps_question_options_and_every_reply() -> None:
    b = bench(max_turns=4)
    agent = Replies("first thought", "second thought", "<answer>B</answer>", "never asked")
    attempt = await b.attempt(b.item(RAW, "val"), "rule", agent)
    assert (attempt.answer, attempt.turns, attempt.usage.calls) == ("<answer>B</answer>", 3, 3)
    last = agent.tasks[-1].user
    assert all(text in last for text in ("Which holds?", "text A", "text E", "first thought", "second thought"))
    assert len({task.system for task in agent.tasks}) == 1
    assert [turn.role for turn in attempt.trajectory] == ["system", "user", *["assistant", "user"] * 2, "assistant"]
    assert sum("Which holds?" in turn.text for turn in attempt.trajectory) == 1


async def test_an_answer_in_tags_costs_one_call() -> None:
    for turns, reply in ((3, "<answer>A strange</answer>"), (1, "no tags")):
        agent = Replies(reply)
        assert (await bench(max_turns=turns).attempt(bench().item(RAW, "val"), "", agent)).turns == 1


def monthly(root: Path, *months: str) -> Path:
    for month in months:
        (root / month).mkdir(parents=True)
        rows = [{**RAW, "no": no, "month": month, "theorem": f"{month} {no}"} for no in range(1, 6)]
        del rows[0]["month"]
        (root / month / f"qa_{month}_final.json").write_text(json.dumps(rows), encoding="utf-8")
        (root / month / "notes.json").write_text("not data", encoding="utf-8")
    return root


def test_a_folder_of_monthly_files_is_cut_by_ratio(tmp_path: Path) -> None:
    data = monthly(tmp_path / "data", "202511", "202512")
    source = DataSource(data_path=str(data), split_output_dir=str(tmp_path / "cut"))
    splits = bench().load(source)
    items = (*splits.train, *splits.val, *splits.test)
    assert {item.id for item in items} == {f"{month}:{no}" for month in ("202511", "202512") for no in range(1, 6)}
    again = DataSource(split_mode="split_dir", split_dir=str(tmp_path / "cut"))
    assert bench().load(again) == splits, "the kept cut, read as a split directory, holds the same items"


def test_the_data_s_seed_orders_the_options_and_the_run_s_does_not(tmp_path: Path) -> None:
    folder = str(write_livemath(tmp_path))
    one, run, data = (
        bench().load(DataSource("split_dir", folder, seed=seed, split_seed=split_seed))
        for seed, split_seed in ((1, 42), (2, 42), (1, 43))
    )
    assert one == run and one != data


def test_split_folders_may_hold_monthly_files_and_are_not_cut_again(tmp_path: Path) -> None:
    for name, month in (("train", "202511"), ("val", "202512"), ("test", "202601")):
        monthly(tmp_path / name, month)
    splits = bench().load(DataSource(split_mode="split_dir", split_dir=str(tmp_path), limit=2))
    assert [item.id for item in splits.val] == ["202512:1", "202512:2"]
    with pytest.raises(DataError, match="already split"):
        bench().load(DataSource(data_path=str(tmp_path)))


def test_bad_rows_are_reported_together(tmp_path: Path) -> None:
    rows = [{"id": "m:1", "month": "m", "no": 1, "paper_link": "p"}, {**RAW, "month": "", "no": None}, FLAT]
    for name in ("train", "val", "test"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "items.json").write_text(json.dumps(rows if name == "val" else [{**FLAT, "id": name}]))
    with pytest.raises(DataError) as caught:
        bench().load(DataSource(split_mode="split_dir", split_dir=str(tmp_path)))
    assert "(id 'm:1'): there is no question" in str(caught.value) and "no id" in str(caught.value)


def test_the_rules_that_guess_are_scored_on_what_the_target_sees() -> None:
    plain, mixed = bench(shuffle_choices=False), bench()
    rows = [{**RAW, "no": no} for no in range(40)]
    assert shares(plain.item(row, "val") for row in rows)["first"] == 1.0
    found = shares(mixed.item(row, "val") for row in rows)
    assert found["first"] < 0.5 and found["chance"] == pytest.approx(0.2) == pytest.approx(found["longest"])
    trick = {**FLAT, "choices": ["x is odd", "y is odd", "None of the above"], "correct_choice": "C"}
    assert guessable([mixed.item(trick, "val")]) == 1.0
    assert guessable([]) == 0.0 and shares([]) == {}


@pytest.mark.parametrize("mode", ["", "_rewrite", "_full_rewrite"])
@pytest.mark.parametrize(("kind", "word"), [("error", "quantifier_miss"), ("success", "habits of comparison")])
def test_analysts_learn_what_these_tasks_are_in_every_mode(mode: str, kind: str, word: str) -> None:
    page = {"skill": "d", "guidance": "", "appendix": "", "memory": "", "previous_steps": "", "budget": 3}
    page |= {"unit": "edits", "count": 2, "trajectories": "t", "skill_aware": False, "show_reference": True}
    ours, base = (Prompts(folder).render(f"analyst_{kind}{mode}", **page) for folder in (bench().prompts_dir, None))
    assert word in ours.system and "letters are dealt anew" in ours.system
    assert ours.system.startswith(base.system.rstrip()) and ours.user == base.user


def test_the_shipped_configuration_fits_the_benchmark() -> None:
    loaded = load_config(CONFIGS / "livemathematicianbench" / "default.yaml").config.public()["env"]
    fields = {name: loaded[name] for name in LiveMath.Config.model_fields}
    assert fields == LiveMath.Config().model_dump()
    assert (loaded["exec_timeout"], loaded["workers"], loaded["limit"]) == (300, 64, 0)
    assert (CONFIGS.parent / loaded["skill_init"]).is_file()


def test_the_miniature_is_sound(tmp_path: Path) -> None:
    splits = bench().load(DataSource("split_dir", str(write_livemath(tmp_path / "a", (20, 10, 30), seed=3))))
    items = (*splits.train, *splits.val, *splits.test)
    assert len(items) == 60 and grader_problems(bench(), items) == ()
    assert {len(item.data["choices"]) for item in items} == {4, 5}
    for seed in (3, 4):
        write_livemath(tmp_path / f"b{seed}", (20, 10, 30), seed=seed)
    first, same, other = ((tmp_path / name / "train" / "items.json").read_bytes() for name in ("a", "b3", "b4"))
    assert first == same != other


def test_the_real_items_load_and_their_answers_can_be_guessed(shared_data: Path) -> None:
    folder = shared_data / "livemathematicianbench"
    if not folder.is_dir():
        pytest.skip(f"the real sample is not on this machine ({folder})")
    b = bench()
    splits = b.load(DataSource(data_path=str(folder)))
    items = (*splits.train, *splits.val, *splits.test)
    assert len({item.id for item in items}) == 177
    assert grader_problems(b, items) == ()
    assert {item.kind for item in items} <= set(b.task_types)
    assert all(b.reference(item) and len(item.data["choices"]) == 5 for item in items)
    found = shares(items)
    assert found["first"] < 0.3 and found["chance"] == pytest.approx(0.2)
    assert guessable(items) > 0.8, "the rule that needs no question finds four answers in five"
