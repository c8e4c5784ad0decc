"""Scripts in the sandbox: unmodified, confined, judged by what they wrote this time and by nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import openpyxl
import pytest

from skillopt.agents.chat import ChatAgent
from skillopt.agents.sandbox import sandbox
from skillopt.envs.spreadsheetbench import office
from skillopt.envs.spreadsheetbench.adapter import SpreadsheetBench
from skillopt.envs.spreadsheetbench.bench import Bench
from skillopt.envs.spreadsheetbench.compare import NO_VALUE
from skillopt.envs.spreadsheetbench.positions import areas
from skillopt.envs.spreadsheetbench.rows import wanted_of
from skillopt.envs.spreadsheetbench.script import as_reply
from skillopt.errors import ConfigError
from skillopt.testing.mini_spreadsheet import KINDS, formula_script_for, script_for, write_spreadsheets
from skillopt.testing.scripted import ScriptedProvider
from skillopt.types import JSON, Attempt, Item, Score

needs_office = pytest.mark.skipif(office.found() is None, reason="LibreOffice is not installed")


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_spreadsheets(tmp_path_factory.mktemp("mini"), (4, 1, 1))[0]


def made(mini: Path, **options: JSON) -> tuple[SpreadsheetBench, dict[str, Item]]:
    """The benchmark, and a task of each kind by the name of its sheet."""
    benchmark = SpreadsheetBench.configured({"data_root": str(mini), "recalculate": False, **options})
    assert isinstance(benchmark, SpreadsheetBench)
    rows = json.loads((mini / "train" / "items.json").read_text())
    return benchmark, {row["answer_sheet"]: benchmark.item(row, "train") for row in rows}


def judged(benchmark: SpreadsheetBench, item: Item, script: str) -> Score:
    return benchmark.score(item, Attempt(as_reply(script), ()))


def test_right_scripts_pass_and_wrong_ones_say_why(mini: Path) -> None:
    benchmark, items = made(mini)
    for item in items.values():
        request = str(item.data["instruction"])
        assert judged(benchmark, item, script_for(request)).hard == 1.0
        wrong = judged(benchmark, item, script_for(request, right=False))
        assert wrong.hard == 0.0 and "filled cells" in wrong.detail["fail_reason"]
        assert "expected" in wrong.detail["cells"]


UNUSUAL = '''"""A script with a shape of its own."""
from __future__ import annotations

import os
import sys

text = """
    kept as it is
INPUT_PATH = "x"
"""
assert text.splitlines()[1] == "    kept as it is", text
assert INPUT_PATH == os.environ["INPUT_PATH"] == sys.argv[1]
assert "OUTPUT_PATH" in globals() and __name__ == "__main__" and __file__.endswith("solution.py")
if INPUT_PATH == OUTPUT_PATH:
    raise SystemExit("the same")
'''


def test_a_script_runs_as_it_is(mini: Path) -> None:
    benchmark, items = made(mini)
    item = items["Stock"]
    assert judged(benchmark, item, UNUSUAL + script_for(str(item.data["instruction"]))).hard == 1.0


def test_a_script_may_use_the_names_of_the_files_instead(mini: Path) -> None:
    benchmark, items = made(mini)
    item = items["Stock"]
    own = 'INPUT_PATH, OUTPUT_PATH = "input.xlsx", "output.xlsx"\n' + script_for(str(item.data["instruction"]))
    assert judged(benchmark, item, own).hard == 1.0
    lost = own.replace('"output.xlsx"', '"result.xlsx"')
    assert "it left: result.xlsx" in judged(benchmark, item, lost).detail["fail_reason"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("x = 1", "wrote no workbook to OUTPUT_PATH"),
        ("x = = 1", "SyntaxError"),
        ("raise KeyError('Total')", "KeyError: 'Total'"),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("open(OUTPUT_PATH, 'w').write('no workbook')", "cannot be opened as a workbook"),
        ("import time; time.sleep(60)", "longer than 2 s"),
        ("import openpyxl; b = openpyxl.Workbook(); b.save(OUTPUT_PATH)", "there is no sheet 'Stock'"),
    ],
)
def test_what_went_wrong_is_told(mini: Path, script: str, told: str) -> None:
    benchmark, items = made(mini, script_seconds=2)
    score = judged(benchmark, items["Stock"], script)
    assert (score.hard, score.soft) == (0.0, 0.0)
    assert told in score.detail["fail_reason"]


def test_the_answers_are_not_there_to_be_found(mini: Path) -> None:
    """The neighbours of the input, the data set's folder, and the traces of other cases are all absent."""
    benchmark, items = made(mini)
    item = items["Stock"]
    folder = str(wanted_of(item).cases[0].answer.parent)
    search = (
        "import os, shutil\nfrom pathlib import Path\n"
        f"seen = [*Path(INPUT_PATH).parent.rglob('*'), *Path({folder!r}).parent.rglob('*.xlsx')]\n"
        "for path in seen:\n    if 'answer' in path.name or 'golden' in path.name:\n"
        "        shutil.copy(path, OUTPUT_PATH)\n"
        f"print(sorted(map(str, seen)), os.path.exists({folder!r}))\n"
    )
    assert "wrote no workbook" in judged(benchmark, item, search).detail["fail_reason"]


def test_some_cases_right_is_soft_credit(mini: Path) -> None:
    benchmark, items = made(mini)
    item = items["Stock"]
    first = wanted_of(item).cases[0].input_sha
    once = f"import hashlib\nassert hashlib.sha256(open(INPUT_PATH, 'rb').read()).hexdigest() == {first!r}\n"
    score = judged(benchmark, item, once + script_for(str(item.data["instruction"])))
    assert (score.hard, score.soft, score.detail["n_exec_pass"]) == (0.0, 0.5, 1)


def test_formulas_without_libreoffice_are_named(mini: Path) -> None:
    benchmark, items = made(mini)
    item = items["Orders"]
    score = judged(benchmark, item, formula_script_for(str(item.data["instruction"])))
    assert score.hard == 0.0 and NO_VALUE in score.detail["fail_reason"]
    assert "formula without value '=ROUND(B2*C2,2)'" in score.detail["cells"]


@needs_office
def test_formulas_are_computed_together(mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark, items = made(mini, recalculate=True)
    starts: list[int] = []
    start = office.Office._start

    async def counted(self: office.Office, batch: list[object]) -> tuple[object, ...]:
        starts.append(len(batch))
        return await start(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(office.Office, "_start", counted)
    chosen = [item for sheet, item in items.items() if sheet != "Stock"]

    async def all_of_them() -> list[Score]:
        scripts = (as_reply(formula_script_for(str(item.data["instruction"]))) for item in chosen)
        works = (benchmark.judged(i, Attempt(s, ()), None) for i, s in zip(chosen, scripts, strict=True))
        return [judgement.score for judgement in await asyncio.gather(*works)]

    assert [score.hard for score in asyncio.run(all_of_them())] == [1.0, 1.0, 1.0]
    assert sum(starts) == 6 and len(starts) < 6


@needs_office
def test_a_workbook_that_spoils_a_start_spoils_no_other(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page["A1"] = "=2*21"
    book.save(tmp_path / "good.xlsx")
    contents = ((tmp_path / "good.xlsx").read_bytes(), b"PK")
    program = office.found()
    assert program is not None

    async def both() -> list[object]:
        here = office.Office(program, sandbox("auto"), 60)
        return await asyncio.gather(*(here.computed(c, areas("Sheet!A1")) for c in contents), return_exceptions=True)

    good, bad = asyncio.run(both())
    assert list(good.values.values()) == [42]  # type: ignore[attr-defined]
    assert "LibreOffice" in str(bad)


def test_libreoffice_may_be_demanded(mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "found", lambda: None)
    with pytest.raises(ConfigError, match="LibreOffice is not installed"):
        made(mini, recalculate=True)[0].within({})


async def test_errors_come_back_until_a_script_runs(mini: Path) -> None:
    benchmark, items = made(mini)
    item = items["Orders"]
    right = as_reply(script_for(str(item.data["instruction"])))
    looks = as_reply("import openpyxl\nprint(openpyxl.load_workbook(INPUT_PATH).sheetnames)")
    model = ScriptedProvider(["I think about it. ```python\n\n```", as_reply("1/0"), looks, right])
    attempt = await benchmark.attempt(item, "", ChatAgent(model))
    assert attempt.turns == 4 and attempt.answer == right and attempt.usage.calls == 4
    said = [turn.text for turn in attempt.trajectory if turn.role == "tool"]
    assert "no script" in said[0] and "ZeroDivisionError" in said[1] and "['Orders', 'Notes']" in said[2]
    assert (await benchmark.judged(item, attempt, None)).score.hard == 1.0


async def test_the_last_script_counts_and_no_file_of_an_earlier_one(mini: Path) -> None:
    benchmark, items = made(mini, eval_feedback=True, max_turns=2)
    item = items["Orders"]
    wrong = as_reply(script_for(str(item.data["instruction"]), right=False))
    attempt = await benchmark.attempt(item, "", ChatAgent(ScriptedProvider([wrong, as_reply("1/0")])))
    score = (await benchmark.judged(item, attempt, None)).score
    assert score.hard == 0.0 and score.detail["phase"] == "exec"


async def test_feedback_on_cells_is_a_choice_and_hides_what_is_expected(mini: Path) -> None:
    item = made(mini)[1]["Deliveries"]
    request = str(item.data["instruction"])
    replies = [as_reply(script_for(request, right=False)), as_reply(script_for(request))]
    plain = await made(mini)[0].attempt(item, "", ChatAgent(ScriptedProvider(replies[:1])))
    assert plain.turns == 1
    told = await made(mini, eval_feedback=True)[0].attempt(item, "", ChatAgent(ScriptedProvider(replies)))
    said = next(turn.text for turn in told.trajectory if turn.role == "tool")
    assert told.turns == 2 and "Deliveries!C2: got 2024-" in said and "expected" not in said


async def test_the_bench_keeps_to_its_folder(mini: Path, tmp_path: Path) -> None:
    benchmark, items = made(mini)
    book = wanted_of(items["Stock"]).cases[0].input
    work = tmp_path / "bench"
    work.mkdir()
    bench = Bench(benchmark._workshop(), work, book)
    for path in ("/etc/x", "../x", "a/../../x", ".given/x", "", "\0"):
        assert (await bench.call("write_file", {"path": path, "content": "x"})).startswith("error:")
    assert "needs content" in await bench.call("write_file", {"path": "x"})
    assert "wrote" in await bench.call("write_file", {"path": "/box/deep/er.py", "content": "x"})
    assert (work / "deep" / "er.py").read_text() == "x"
    script = (
        "import openpyxl\nbook = openpyxl.load_workbook(INPUT_PATH)\nbook.save(OUTPUT_PATH)\nbook.save(INPUT_PATH)\n"
    )
    await bench.call("write_file", {"path": "solution.py", "content": script})
    said = await bench.call("bash", {"cmd": "python solution.py && echo $OUTPUT_PATH; ls | tr '\\n' ' '"})
    assert "output.xlsx is there" in said and "deep input.xlsx output.xlsx solution.py" in said
    await bench.call("bash", {"cmd": "cp input.xlsx fresh.xlsx; ln -s / root; exit 3"})
    assert (work / "fresh.xlsx").read_bytes() == book.read_bytes() and not (work / "root").exists()
    assert "[exit code 3]" in await bench.call("bash", {"cmd": "cat /etc/hostname ~/.bashrc; exit 3"})
    assert bench.script() == script


def test_the_kinds_of_the_miniature_differ_from_their_mistakes() -> None:
    assert len({kind.sheet for kind in KINDS}) == len(KINDS) and all(kind.right != kind.wrong for kind in KINDS)
