"""The audit: what spoils a result is found, with its place; what is sound is left in peace."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from skillopt.datasets.audit import Audit, audit
from skillopt.datasets.chance import at_least, drawn_at_least
from skillopt.datasets.roles import ROLES, Roles
from skillopt.types import JSON

ASK = Roles(("q",), answer=("a",))
WORDS = [f"word{i}" for i in range(400)]


def item(id: str, rng: random.Random, **fields: JSON) -> dict[str, JSON]:
    return {"id": id, "q": " ".join(rng.choices(WORDS, k=25)), "a": f"answer {id}", **fields}


def splits(train: int = 10, val: int = 20, test: int = 100) -> dict[str, list[dict[str, JSON]]]:
    rng = random.Random(7)
    counts = {"train": train, "val": val, "test": test}
    return {name: [item(f"{name}{i}", rng) for i in range(count)] for name, count in counts.items()}


def look(rows: dict[str, list[dict[str, JSON]]], roles: Roles = ASK, **more: JSON) -> Audit:
    return audit(rows, roles, lift=lambda n: 0.2 if n > 90 else None, **more)


def found(result: Audit, check: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.severity, finding.where) for finding in result.findings if finding.check == check]


def test_sound_data_get_sizes_and_nothing_else() -> None:
    result = look(splits())
    assert result.sound
    assert {finding.check for finding in result.findings} == {"size"}
    assert all(finding.severity == "note" for finding in result.findings)
    assert any("100 test items: a gain of about 20 points" in finding.what for finding in result.findings)


def test_little_data_and_no_data() -> None:
    result = look(splits(train=0, val=5, test=8))
    assert [finding.what for finding in result.of("error")] == ["train has no items"]
    assert any("each is worth 20.0 points" in finding.what for finding in result.of("warning"))
    assert any("no gain at all" in finding.what for finding in result.of("warning"))


def test_ids_twice() -> None:
    rows = splits()
    rows["test"][0]["id"] = "train3"
    rows["val"][1]["id"] = "val0"
    rows["val"][2]["id"] = ""
    result = look(rows)
    assert found(result, "id_in_two_splits") == [("error", ("train:train3 ~ test:train3",))]
    assert found(result, "duplicate_id") == [("error", ("val:val0 ~ val:val0",))]
    assert found(result, "no_id") == [("error", ("val item 2",))]


def test_copies_under_other_names() -> None:
    rows = splits()
    rows["test"][5] = {**rows["train"][2], "id": "copy"}
    rows["val"][1] = {**rows["val"][0], "id": "again"}
    result = look(rows)
    assert found(result, "copy_across_splits") == [("error", ("train:train2 ~ test:copy",))]
    assert found(result, "copy_in_split") == [("warning", ("val:val0 ~ val:again",))]
    assert not found(result, "near_copy")


def test_a_copy_in_other_letters_is_an_error_and_a_reworded_one_a_warning() -> None:
    rows = splits()
    one, other = rows["train"][0], rows["train"][1]
    rows["test"][0] |= {"q": one["q"].upper() + " !!", "a": one["a"]}
    rows["test"][1] |= {"q": other["q"].replace(other["q"].split()[12], "changed")}
    result = look(rows)
    assert found(result, "copy_across_splits") == [("error", ("test:test0 ~ train:train0 (1.00)",))]
    ((severity, (where,)),) = found(result, "near_copy")
    assert severity == "warning"
    assert where.startswith("test:test1 ~ train:train1 (0.7")
    assert any("Jaccard at least 0.7" in finding.what for finding in result.findings)


def test_the_same_question_on_another_page_is_no_copy() -> None:
    def page(name: str, n: int) -> dict[str, JSON]:
        return {
            "id": f"{name}{n}",
            "question": "What is the title of this page?",
            "answers": [f"{name} {n}"],
            "image_paths": [f"{name}{n}.png"],
        }

    rows = {name: [page(name, n) for n in range(20)] for name in ("train", "val", "test")}
    assert not found(look(rows, ROLES["docvqa"]), "near_copy")
    rows["test"][0]["image_paths"] = ["train0.png"]
    result = look(rows, ROLES["docvqa"])
    assert found(result, "shared_file") == [("note", ("train:train0 ~ test:test0",))]
    assert found(result, "contradiction") == [("warning", ("train:train0 ~ test:test0",))]


def test_an_answer_in_its_question() -> None:
    rows = splits()
    rows["test"][3] |= {"q": "Who was Ada Lovelace, really?", "a": "ada  lovelace"}
    rows["test"][4] |= {"q": "Is 12 more than 5?", "a": "12"}
    assert found(look(rows), "answer_in_question") == [("warning", ("test:test3",))]


def labelled(mark: float, count: int = 120) -> dict[str, list[dict[str, JSON]]]:
    rng = random.Random(3)
    rows = [item(str(i), rng, a=rng.choice(["yes", "no", "maybe"])) for i in range(count)]
    for row in rows:
        if row["a"] == "no" and rng.random() < mark:
            row["q"] += " [src=b]"
    return {"train": rows[: count // 3], "val": rows[count // 3 : count // 2], "test": rows[count // 2 :]}


def test_a_mark_that_gives_the_label_away() -> None:
    told = [finding for finding in look(labelled(1.0)).findings if finding.check == "telling_word"]
    assert [finding.severity for finding in told] == ["warning"]
    assert "'[src=b]' means 'no'" in told[0].what
    assert [severity for severity, _ in found(look(labelled(0.5)), "telling_word")] == ["note"]


@pytest.mark.parametrize("seed", range(5))
def test_words_at_random_raise_no_alarm(seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        {"id": str(i), "q": " ".join(rng.choices(WORDS[:60], k=12)), "a": rng.choice(["x", "y"])} for i in range(90)
    ]
    result = look({"train": rows[:30], "val": rows[30:50], "test": rows[50:]})
    assert not found(result, "telling_word")


def test_four_items_of_one_label_prove_nothing() -> None:
    rows = [{"id": str(i), "q": f"mark{i % 2} text{i}", "a": ["x", "y"][i % 2]} for i in range(8)]
    assert not found(look({"train": rows[:3], "val": rows[3:5], "test": rows[5:]}), "telling_word")


def test_the_majority_is_told() -> None:
    rows = splits(train=30, val=20, test=100)
    for split in rows.values():
        for n, row in enumerate(split):
            row["a"] = "spam" if n % 10 else "ham"
    told = [finding for finding in look(rows).findings if finding.check == "majority_answer"]
    assert told[0].severity == "warning"
    assert "always answering 'spam' scores 90% on test (2 labels)" in told[0].what


def choices(right_longer: bool, standing: bool = False) -> dict[str, list[dict[str, JSON]]]:
    rng = random.Random(5)

    def one(i: int) -> dict[str, JSON]:
        texts = [" ".join(rng.choices(WORDS, k=rng.randint(5, 9))) for _ in range(4)]
        right = rng.randrange(4)
        texts[right] += " and some more words" * (5 * right_longer)
        if standing:
            texts[right] = "None of these."
        options = [{"label": "ABCD"[n], "text": text} for n, text in enumerate(texts)]
        return item(str(i), rng, question=f"number {i}", choices=options, correct_choice={"label": "ABCD"[right]})

    rows = [one(i) for i in range(60)]
    return {"train": rows[:20], "val": rows[20:40], "test": rows[40:]}


def test_habits_that_beat_chance_on_options() -> None:
    roles = ROLES["livemathematicianbench"]
    assert not found(look(choices(False), roles), "guessable_option")
    told = [finding.what for finding in look(choices(True), roles).findings if finding.check == "guessable_option"]
    assert told == ["always taking the longest option scores 100%, where chance gives 25%"]
    standing = [f.what for f in look(choices(False, True), roles).findings if f.check == "standing_option"]
    assert standing == ["the option 'none of these' is right in 60 of 60 items with it (chance 25%)"]


def test_complaints_of_the_benchmark_are_placed_and_not_repeated() -> None:
    rows = splits()
    rows["test"][0]["id"] = "train3"
    problems = [
        "val item 4 (id 'val4'): the field 'a' is empty",
        "val item 5 (id 'val5'): the field 'a' is empty",
        "test item 0 (id 'train3'): the id 'train3' is also in train; ids must be unique",
    ]
    assert found(look(rows, problems=problems), "unusable_row") == [("error", ("val:val4", "val:val5"))]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    rows: dict[str, list[dict[str, JSON]]] = {
        name: [{"id": name, "gamefile": "here" if name == "val" else f"{name}.game"}]
        for name in ("train", "val", "test")
    }
    result = look(rows, ROLES["alfworld"], folders=(tmp_path,))
    assert found(result, "absent_file") == [("warning", ("train:train", "test:test"))]


def test_tails_are_exact() -> None:
    assert at_least(0, 10, 0.3) == 1.0
    assert at_least(2, 2, 0.5) == pytest.approx(0.25)
    assert at_least(1, 3, 0.5) == pytest.approx(0.875)
    assert drawn_at_least(3, 3, 5, 10) == pytest.approx(10 / 120)
    assert drawn_at_least(1, 3, 9, 10) == 1.0
