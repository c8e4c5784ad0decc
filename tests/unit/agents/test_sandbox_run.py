"""What a caller may count on, the same in every kind of sandbox."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from skillopt.agents.sandbox import Limits, Sandbox, SandboxError, collect, sandbox


@pytest.fixture(scope="module", params=["bubblewrap", "namespaces", "none"])
def box(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return sandbox(request.param)
    except SandboxError as refusal:
        pytest.skip(str(refusal))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def python(source: str, *words: str) -> tuple[str, ...]:
    return ("python", "-I", "-S", "-c", source, *words)


def files(work: Path) -> dict[str, str]:
    return {str(path.relative_to(work)): path.read_text() for path in work.rglob("*") if path.is_file()}


async def test_the_work_directory_becomes_what_the_program_left(box: Sandbox, work: Path) -> None:
    (work / "kept").write_text("kept")
    (work / "edited").write_text("before")
    (work / "removed").write_text("x")
    (work / "deep" / "er").mkdir(parents=True)
    (work / "deep" / "er" / "moved").write_text("moved")
    (work / "tool").write_text("#!/bin/sh\necho tool")
    (work / "tool").chmod(0o755)
    before = (work / "kept").stat().st_ino
    source = (
        "import os, subprocess; open('edited', 'a').write(' after'); os.unlink('removed');"
        "os.rename('deep/er/moved', 'here'); os.makedirs('new/empty'); os.unlink('tool'); os.mkdir('tool');"
        "open('tool/x', 'w').write('x')"
    )
    ran = await box.run(python(source), work=work)
    assert ran.ok, ran
    assert files(work) == {"kept": "kept", "edited": "before after", "here": "moved", "tool/x": "x"}
    assert (work / "new" / "empty").is_dir()
    assert (work / "kept").stat().st_ino == before


async def test_programs_stay_programs(box: Sandbox, work: Path) -> None:
    (work / "tool").write_text("#!/bin/sh\necho tool\ncp tool other")
    (work / "tool").chmod(0o755)
    ran = await box.run(("./tool",), work=work)
    assert ran.stdout == "tool\n" and os.access(work / "other", os.X_OK)


async def test_many_files_travel(box: Sandbox, work: Path) -> None:
    for number in range(1500):
        (work / str(number)).write_text(str(number))
    ran = await box.run(python("import os; print(len(os.listdir())); open('x', 'w')"), work=work)
    assert ran.stdout == "1500\n" and len(files(work)) == 1501


async def test_a_failed_program_keeps_its_files_and_its_code(box: Sandbox, work: Path) -> None:
    ran = await box.run(python("import sys; open('x', 'w').write('x'); sys.exit('no')"), work=work)
    assert (ran.code, ran.ended, ran.stderr, ran.ok) == (1, "exit", "no\n", False)
    assert files(work) == {"x": "x"}


async def test_a_run_that_is_ended_leaves_everything_as_it_was(box: Sandbox, work: Path) -> None:
    (work / "a").write_text("a")
    source = "import os, time; os.unlink('a'); open('b', 'w').write('b'); time.sleep(9)"
    ran = await box.run(python(source), work=work, limits=Limits(seconds=0.3))
    assert (ran.ended, ran.code) == ("timeout", None) and files(work) == {"a": "a"}
    assert sorted(os.listdir(work)) == ["a"]


async def test_a_crash_names_its_signal(box: Sandbox, work: Path) -> None:
    ran = await box.run(python("import os; os.abort()"), work=work)
    assert (ran.ended, ran.code) == ("killed", -6)


async def test_an_unknown_program_is_no_fault_of_the_sandbox(box: Sandbox, work: Path) -> None:
    ran = await box.run(("no-such-program",), work=work)
    assert ran.code == 127 and "no-such-program could not be started" in ran.stderr


async def test_standard_input_is_what_was_given_and_else_empty(box: Sandbox, work: Path) -> None:
    source = "import sys; print(len(sys.stdin.read()))"
    given = await box.run(python(source), work=work, stdin=b"x" * 700_000)
    none = await box.run(python(source), work=work)
    assert (given.stdout, none.stdout) == ("700000\n", "0\n") and files(work) == {}


async def test_output_beyond_the_limit_is_counted(box: Sandbox, work: Path) -> None:
    source = "import sys; print('a' * 5000); print('b' * 5000, file=sys.stderr)"
    ran = await box.run(python(source), work=work, limits=Limits(output_bytes=100))
    assert ran.ok and (ran.stdout, ran.stderr, ran.discarded) == ("a" * 100, "b" * 100, 2 * 4901)


async def test_output_that_is_no_text_is_still_shown(box: Sandbox, work: Path) -> None:
    ran = await box.run(python("import os; os.write(1, b'a\\xffb')"), work=work)
    assert ran.stdout == "a\ufffdb"


async def test_inputs_lie_where_they_were_put(box: Sandbox, work: Path, tmp_path: Path) -> None:
    one, two, folder = tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "corpus"
    one.write_text("1")
    one.chmod(0o600)
    two.write_text("2")
    folder.mkdir()
    (folder / "page").write_text("3")
    source = "print(*(open('..' + p).read() for p in ('/input/one.txt', '/data/in.txt', '/input/corpus/page')))"
    readable = (one, (two, "/data/in.txt"), folder)
    assert (await box.run(python(source), work=work, readable=readable)).stdout == "1 2 3\n"
    assert (one.read_text(), one.stat().st_mode & 0o777) == ("1", 0o600)


async def test_the_environment_is_what_was_given_and_little_else(
    box: Sandbox, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    source = "import os; print(os.environ['GIVEN'], 'OPENAI_API_KEY' in os.environ, os.environ['HOME'] == os.getcwd())"
    ran = await box.run(python(source), work=work, environment={"GIVEN": "x"})
    assert ran.stdout == "x False True\n"


async def test_what_spreadsheet_scripts_need_is_there(box: Sandbox, work: Path) -> None:
    pytest.importorskip("openpyxl")
    source = (
        "import openpyxl, tempfile; book = openpyxl.Workbook(); book.active['A1'] = 7; book.save('out.xlsx');"
        "print(openpyxl.load_workbook('out.xlsx').active['A1'].value, tempfile.gettempdir() != '/box')"
    )
    ran = await box.run(("python", "-c", source), work=work)
    assert ran.stdout == "7 True\n", ran
    assert (collect(work, "out.xlsx") or b"").startswith(b"PK")


async def test_pandas_loads_within_the_default_limits(box: Sandbox, work: Path) -> None:
    pytest.importorskip("pandas")
    ran = await box.run(("python", "-c", "import pandas; print(pandas.DataFrame({'a': [1, 2]}).a.sum())"), work=work)
    assert ran.stdout == "3\n", ran


async def test_many_at_once(box: Sandbox, tmp_path: Path) -> None:
    async def one(number: int) -> str:
        work = tmp_path / str(number)
        work.mkdir()
        return (await box.run(("/bin/echo", str(number)), work=work)).stdout.strip()

    before = len(os.listdir("/proc/self/fd"))
    assert await asyncio.gather(*map(one, range(16))) == [str(number) for number in range(16)]
    await asyncio.sleep(0.1)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_cancelling_is_quick(box: Sandbox, work: Path) -> None:
    task = asyncio.ensure_future(box.run(python("import time; time.sleep(30)"), work=work))
    await asyncio.sleep(0.2)
    since = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - since < 3 and os.listdir(work) == []


async def test_a_work_directory_beyond_the_disk_is_refused(box: Sandbox, work: Path) -> None:
    (work / "large").write_bytes(bytes(2 << 20))
    with pytest.raises(SandboxError, match=r"more than the 1 MB.*readable"):
        await box.run(("true",), work=work, limits=Limits(disk_mb=1))


@pytest.mark.parametrize("place", ["relative", "/box/x", "/usr/lib/x", "/usr", "/a/../b"])
async def test_places_in_use_are_refused(box: Sandbox, work: Path, tmp_path: Path, place: str) -> None:
    if box.name == "none":
        return
    given = tmp_path / "given"
    given.write_text("x")
    with pytest.raises(SandboxError, match="cannot be placed"):
        await box.run(("true",), work=work, readable=((given, place),))


async def test_inputs_among_the_libraries_are_refused(box: Sandbox, work: Path) -> None:
    if box.name == "none":
        return
    with pytest.raises(SandboxError, match="neighbours would show"):
        await box.run(("true",), work=work, readable=(Path(os.__file__),))


async def test_missing_and_colliding_inputs_are_named(box: Sandbox, work: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="does not exist"):
        await box.run(("true",), work=work, readable=(tmp_path / "absent",))
    given = tmp_path / "given"
    given.write_text("x")
    with pytest.raises(SandboxError, match="same place"):
        await box.run(("true",), work=work, readable=(given, given))


def test_the_interpreter_is_the_running_one(box: Sandbox, work: Path) -> None:
    ran = asyncio.run(box.run(python("import sys; print(sys.executable)"), work=work))
    assert ran.stdout.strip() == sys.executable
