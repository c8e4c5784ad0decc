"""The benchmark as a whole: options, rows, tasks, scores, and an attempt with tools on invented bulletins."""

from __future__ import annotations

import calendar
import csv
import json
import re
from pathlib import Path

import pytest

from skillopt.agents.chat import ChatAgent
from skillopt.config import load_config
from skillopt.envs.base import DataSource, grader_problems
from skillopt.envs.officeqa.adapter import OfficeQA
from skillopt.envs.officeqa.options import OfficeQAOptions
from skillopt.envs.officeqa.rows import listed, named
from skillopt.envs.officeqa.tools import CorpusTools
from skillopt.errors import ConfigError, DataError
from skillopt.model.types import Completion, Request, ToolCall
from skillopt.prompts import Prompts
from skillopt.testing.mini_officeqa import COLUMNS, write_officeqa
from skillopt.types import Attempt, Usage

CONFIG = Path(__file__).parents[3] / "configs" / "officeqa" / "default.yaml"
MONTHS = list(calendar.month_name)[1:]
ROW = {"uid": "U1", "question": "How much?", "answer": "2,602", "difficulty": "hard", "source_files": "b_1941_01.txt"}


def bench(**options: object) -> OfficeQA:
    made = OfficeQA.configured(options)
    assert isinstance(made, OfficeQA)
    return made


def scored(said: str, **options: object):
    made = bench(**options)
    return made.score(made.item(ROW, "val"), Attempt(said, ()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"use_local_tools": False}, "set oracle_pages true"),
        ({"search_mode": "azure_search"}, "the chat backends do not offer"),
        ({"search_mode": "custom_search"}, "needs search_api_url"),
        ({"search_api_url": "http://search.example/api"}, "must begin with https://"),
        ({"search_api_url": "https://me:pw@search.example"}, "must not hold a user name"),
        ({"search_api_url": "search.example"}, "begins with https://"),
        ({"search_api_url": "http://127.0.0.1.example/"}, "unencrypted"),
        ({"data_dirs": ["a"], "docs_dirs": ["b"]}, "two names of one key"),
        ({"max_tool_turns": 0}, "env.max_tool_turns"),
        ({"tolerance": -0.1}, "env.tolerance"),
        ({"scorer": "exact"}, "env.scorer"),
        ({"max_tool_turn": 3}, "env.max_tool_turn"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bench(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://s.example/x", "http://127.0.0.1:80/", "http://localhost:9/", "http://[::1]:9/"]
)
def test_addresses_that_are_safe(url: str) -> None:
    assert OfficeQAOptions(search_api_url=url).search_api_url == url


def test_the_shipped_configuration_holds_the_defaults() -> None:
    loaded = load_config(CONFIG, benchmark_options=lambda name: OfficeQAOptions).config
    assert OfficeQAOptions(**loaded.env.options) == OfficeQAOptions() and loaded.env.workers == 4


@pytest.mark.parametrize(("given", "folders"), [("one", ("one",)), (["a", "b"], ("a", "b")), (None, ()), ("", ())])
def test_folders_may_be_one_or_many(given: object, folders: tuple[str, ...]) -> None:
    assert OfficeQAOptions(data_dirs=given).folders == folders == OfficeQAOptions(docs_dirs=given).folders


def test_folders_come_from_the_options_then_from_the_environment() -> None:
    item = bench().item(ROW, "val")
    environ = {"OFFICEQA_DOCS_DIR": "/elsewhere"}
    assert bench().task(item, "").folders == (Path("data/officeqa_docs_official"),)
    assert bench().within(environ).task(item, "").folders == (Path("/elsewhere"),)
    assert bench(data_dirs="mine").within(environ).task(item, "").folders == (Path("mine"),)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("a.txt", ["a.txt"]), ("a.txt\nb.txt\n", ["a.txt", "b.txt"]), ('["a.txt", "b.txt"]', ["a.txt", "b.txt"]),
        (["a.txt", " b.txt "], ["a.txt", "b.txt"]), ("a.txt, b.txt", ["a.txt", "b.txt"]),
        ("x, part 2.txt", ["x, part 2.txt"]), (None, []), ("", []), ("[", ["["]),
        ("https://u?page=1,https://u?page=2", ["https://u?page=1", "https://u?page=2"]),
    ],
)  # fmt: skip
def test_lists_of_names_in_every_spelling(value: object, names: list[str]) -> None:
    assert listed(value) == names


def test_a_row_gets_one_set_of_names_and_keeps_them() -> None:
    row = named(ROW)
    assert (row["id"], row["ground_truth"], row["answers"], row["task_type"]) == ("U1", "2,602", ["2,602"], "hard")
    assert named(row) == row and row["source_files"] == ["b_1941_01.txt"]
    assert named({"id": "2", "ground_truth": 5, "answers": ["5", "five"], "category": "Easy"})["answers"] == [
        "5",
        "five",
    ]
    assert bench().item({"id": "3", "question": "q", "answers": ["7"]}, "val").kind == "other"
    with pytest.raises(ValueError, match="no expected answer"):
        bench().item({"id": "4", "question": "q"}, "val")


def test_scores_and_their_reasons() -> None:
    right = scored("so <answer>1</answer>, no: <answer>2602 million</answer>")
    assert right.hard == right.soft == 1.0 and "fail_reason" not in right.detail
    assert set(right.detail) == {"predicted_answer", "ground_truth", "question", "source_files", "scorer"}
    wrong = scored("<answer>2,602,000</answer>")
    assert wrong.detail["fail_reason"] == (
        "wrong: predicted '2,602,000', expected '2,602' (off by a factor of 1,000)"
    ) and wrong.detail["scorer"] == "numeric"  # fmt: skip
    assert scored("2602").detail["fail_reason"] == "no answer: there are no <answer> tags"
    assert scored("<answer> </answer>").detail["fail_reason"] == "no answer: the tags are empty"
    assert scored("").detail["fail_reason"] == "no answer"
    assert scored("<answer>2610</answer>", tolerance=0.01).hard == 1.0


def test_the_reference_scorer_takes_the_first_tags_and_ignores_units() -> None:
    assert scored("<answer>2602 billion</answer> <answer>1</answer>", scorer="reference").hard == 1.0
    assert scored("<answer>2602.0</answer>", scorer="reference").hard == 0.0


def test_any_of_several_expected_answers_counts() -> None:
    made = bench()
    item = made.item({"id": "1", "question": "q", "ground_truth": "five", "answers": ["five", "5"]}, "val")
    assert made.score(item, Attempt("<answer>5.0</answer>", ())).hard == 1.0


@pytest.fixture
def mini(tmp_path: Path) -> tuple[OfficeQA, DataSource]:
    split, docs = write_officeqa(tmp_path / "mini")
    made = bench(data_dirs=[str(docs)]).within({"SKILLOPT_CACHE": str(tmp_path / "cache")})
    return made, DataSource(split_mode="split_dir", split_dir=str(split))


def test_the_miniature_loads_and_its_answers_are_right(mini: tuple[OfficeQA, DataSource], tmp_path: Path) -> None:
    made, source = mini
    splits = made.load(source)
    assert [len(splits.of(name)) for name in ("train", "val", "test")] == [8, 4, 8]
    assert grader_problems(made, (*splits.train, *splits.val, *splits.test)) == ()
    split, docs = write_officeqa(tmp_path / "again")
    assert (split / "train" / "officeqa.csv").read_bytes() == (
        Path(source.split_dir) / "train" / "officeqa.csv"
    ).read_bytes()
    item = next(i for i in splits.train if i.kind == "easy")
    text = (docs / item.data["source_files"][0]).read_text()
    assert item.data["ground_truth"] in text


def test_the_task_points_at_nothing(mini: tuple[OfficeQA, DataSource]) -> None:
    made, source = mini
    for item in made.load(source).train:
        task = made.task(item, "A rule.")
        assert item.data["source_files"][0] not in task.system + task.user and task.user.startswith("Question: ")
        assert isinstance(task.tools, CorpusTools) and task.max_turns == 24 and task.system.count("A rule.") == 1


def test_csv_is_preferred_json_is_read_and_ratio_mode_cuts_the_csv(tmp_path: Path) -> None:
    split, docs = write_officeqa(tmp_path)
    made = bench(data_dirs=[str(docs)])
    (split / "train" / "aaa.json").write_text(json.dumps([{"id": "J", "question": "q", "answer": "1"}]))
    source = DataSource(split_mode="split_dir", split_dir=str(split))
    assert len(made.load(source).train) == 8
    (split / "train" / "officeqa.csv").unlink()
    assert [item.id for item in made.load(source).train] == ["J"]
    ratio = DataSource(split_mode="ratio", data_path=str(split / "test" / "officeqa.csv"), split_ratio="2:1:1")
    assert [len(made.load(ratio).of(name)) for name in ("train", "val", "test")] == [4, 2, 2]


def test_questions_among_the_documents_are_refused(tmp_path: Path) -> None:
    split, _ = write_officeqa(tmp_path)
    with pytest.raises(DataError, match="Keep them in different folders"):
        bench(data_dirs=[str(tmp_path)]).load(DataSource(split_mode="split_dir", split_dir=str(split)))


def test_missing_documents_are_refused_before_anything_is_paid(tmp_path: Path) -> None:
    split, docs = write_officeqa(tmp_path)
    source = DataSource(split_mode="split_dir", split_dir=str(split))
    with pytest.raises(DataError, match=r"env\.data_dirs: there is no folder"):
        bench(data_dirs=[str(tmp_path / "nowhere")]).load(source)
    for path in docs.iterdir():
        path.rename(docs / f"other_{path.stem[-1]}{path.name[:3]}{path.stat().st_ino}.txt")
    with pytest.raises(DataError, match=r"env\.oracle_pages: 20 of 20 questions"):
        bench(data_dirs=[str(docs)], oracle_pages=True).load(source)


def test_a_search_needs_its_token_and_no_documents(tmp_path: Path) -> None:
    split, _ = write_officeqa(tmp_path)
    source = DataSource(split_mode="split_dir", split_dir=str(split))
    options = {"search_mode": "custom_search", "search_api_url": "https://s.example/"}
    with pytest.raises(ConfigError, match="the variable OFFICEQA_CUSTOM_SEARCH_AUTH is not set"):
        bench(**options).load(source)
    made = bench(**options).within({"OFFICEQA_CUSTOM_SEARCH_AUTH": "t0p-s3cret"})
    item = made.load(source).train[0]
    assert made.task(item, "").tools is None and "<search_queries>" in made.task(item, "").system
    assert "t0p-s3cret" not in repr(made._service())
    assert bench(**options, search_auth_env="").load(source).train


class Model:
    """A target that looks its answer up: the month's column in the source's row of the quarter's table."""

    identity = "model"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        text = request.messages[1].text
        if not request.tools:
            return Completion(f"<answer>{self.cell(text, text)}</answer>", Usage(calls=1))
        if len(request.messages) == 2:
            year = re.findall(r"19\d\d", text)[0]
            call = ToolCall("1", "grep", json.dumps({"pattern": f"{year} [In thousands", "path": "*"}))
            return Completion("", Usage(calls=1), "tool_calls", tool_calls=(call,))
        if len(request.messages) == 4:
            month = re.search(r"in (\w+) 19", text)[1]  # type: ignore[index]
            start = MONTHS[MONTHS.index(month) // 3 * 3]
            found = re.search(rf"(\S+):\d+: .*source, {start}", request.messages[3].text)
            call = ToolCall("2", "read", json.dumps({"path": found[1]}))  # type: ignore[index]
            return Completion("", Usage(calls=1), "tool_calls", tool_calls=(call,))
        return Completion(f"<answer>{self.cell(text, request.messages[5].text)}</answer>", Usage(calls=1))

    def cell(self, question: str, page: str) -> str:
        name, month = re.search(r"from (.+) in (\w+) 19", question).groups()  # type: ignore[union-attr]
        header = re.search(r"\| Source \|.*", page)[0].split("|")  # type: ignore[index]
        row = re.search(rf"\| {name} \|.*", page)[0].split("|")  # type: ignore[index]
        return row[[cell.strip() for cell in header].index(month)].strip()

    async def close(self) -> None: ...


async def test_an_attempt_with_tools_finds_the_answer(mini: tuple[OfficeQA, DataSource]) -> None:
    made, source = mini
    item = next(i for i in made.load(source).test if i.kind == "easy")
    model = Model()
    attempt = await made.attempt(item, "", ChatAgent(model))
    assert made.score(item, attempt).hard == 1.0, attempt.answer
    assert attempt.turns == 3 and [tool.name for tool in model.requests[0].tools] == ["glob", "read", "grep"]


async def test_given_pages_alone_make_one_call(mini: tuple[OfficeQA, DataSource]) -> None:
    _, source = mini
    docs = [str(Path(source.split_dir).parent / "docs")]
    given = bench(data_dirs=docs, oracle_pages=True, use_local_tools=False)
    item = next(i for i in given.load(source).test if i.kind == "easy")
    attempt = await given.attempt(item, "", ChatAgent(Model()))
    task = given.task(item, "")
    assert given.score(item, attempt).hard == 1.0 and attempt.turns == 1 and task.tools is None and task.folders == ()
    assert f"Files with the answer: {item.data['source_files'][0]}" in task.user


@pytest.mark.parametrize("mode", ["", "_rewrite", "_full_rewrite"])
def test_analysts_learn_the_causes_in_every_mode(mode: str) -> None:
    prompts = Prompts(bench().prompts_dir)
    values = {
        "show_reference": False, "skill_aware": False, "skill": "# S", "guidance": "", "appendix": "", "budget": 3,
        "unit": "edits", "count": 1, "trajectories": "t", "previous_steps": "", "memory": "", "meta_skill": "",
        "steps": (), "notes": "",
    }  # fmt: skip
    text = prompts.render(f"analyst_error{mode}", **values).system
    for cause in ("retrieval_miss", "evidence_miss", "operand_error", "calculation_error", "answer_format", "other"):
        assert f"`{cause}`" in text
    assert "Failure analyst" in text and "skillopt" not in text
    assert "financial bulletins" in prompts.render(f"analyst_success{mode}", **values).system


def test_the_real_questions_load_and_grade_themselves(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "officeqa" / "officeqa_full.csv"
    with path.open(encoding="utf-8", newline="") as file:
        assert tuple(next(csv.reader(file))) == COLUMNS
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "x.txt").write_text("x")
    for scorer in ("numeric", "reference"):
        made = bench(data_dirs=[str(tmp_path / "docs")], scorer=scorer)
        splits = made.load(DataSource(split_mode="ratio", data_path=str(path)))
        items = (*splits.train, *splits.val, *splits.test)
        assert len(items) == 246 and {item.kind for item in items} == {"easy", "hard"}
        assert all(item.data["source_files"] for item in items)
        assert grader_problems(made, items) == ()
