"""The claims' commands on a finished run: report, verify, compare, calibrate, blame, ablate, shrink."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from skillopt.cli import cli
from skillopt.errors import SkillOptError
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial
from skillopt.testing.world import World, all_rules

CONFIG = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"
Invoke = Callable[..., Result]


class Flaky(World):
    """A target that sometimes knows more, and sometimes less, than its skill says: at every call anew."""

    random = Random(5)

    def reply(self, system: str, user: str) -> str:
        luck = self.random.random() if self.read(system).editor is None else 1.0
        if luck < 0.1:
            return "<answer>nobody</answer>"
        return super().reply(f"{system}\n{all_rules()}" if luck < 0.3 else system, user)


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread(Flaky(3)) as server:
        yield server


@pytest.fixture(scope="module")
def trained(server: LoopbackServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("claims")
    settings = {"train.num_epochs": 1, "train.batch_size": 8}
    trial = Trial(home, server.url, CONFIG, settings).write_items(16, 12, 14, seed=3)
    trial.train("run")
    trial.train("race", evaluation__gate="race", optimizer__candidates=2, train__seed=7)
    trial.train("fewer", evaluation__test_env_num=6, optimizer__use_slow_update=False)
    return home


@pytest.fixture
def run_dir(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, code: int = 0) -> Result:
        done = CliRunner().invoke(cli, [str(a) for a in arguments])
        if isinstance(done.exception, SkillOptError):
            assert done.exception.exit_code == code, done.exception
        else:
            assert done.exit_code == code, (done.output, done.exception)
        return done

    return call


def test_an_untouched_run_verifies_in_every_mode(invoke: Invoke, trained: Path) -> None:
    for name in ("run", "race", "fewer"):
        found = json.loads(invoke("verify", trained / name, "--json").stdout)
        assert found["ok"] and {c["name"]: c["compared"] for c in found["checks"]}["decisions"] >= 2


def test_one_byte_of_any_score_is_noticed(invoke: Invoke, run_dir: Path) -> None:
    """With the checksum, and from the numbers alone where that is gone too."""
    log = run_dir / "events.jsonl"
    whole = log.read_bytes()
    scores = [m.start(1) for m in re.finditer(rb'"score":\{"hard":([01])\.0', whole)]
    assert len(scores) > 50
    for place in scores[:: len(scores) // 4]:
        spoiled = bytearray(whole)
        spoiled[place] ^= 1
        log.write_bytes(bytes(spoiled))
        said = invoke("verify", run_dir, code=1).output
        assert "its bytes are not those" in said
    (run_dir / "events.jsonl.sha256").unlink()
    assert re.search(r"recorded .*, computed ", invoke("verify", run_dir, code=1).output)


def test_every_stage_is_checked_without_the_checksum(invoke: Invoke, run_dir: Path) -> None:
    (run_dir / "events.jsonl.sha256").unlink()
    log = run_dir / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    stages: dict[str, int] = {}
    for number, line in enumerate(lines):
        body = json.loads(line)["body"]
        if body["type"] == "rollout":
            stages.setdefault(body["stage"], number)
    assert {"train", "val", "test"} <= stages.keys()
    for number in stages.values():
        spoiled = re.sub(rb'"hard":([01])', lambda m: b'"hard":' + bytes([m[1][0] ^ 1]), lines[number], count=1)
        log.write_bytes(b"".join([*lines[:number], spoiled, *lines[number + 1 :]]))
        assert json.loads(invoke("verify", run_dir, "--json", code=1).stdout)["ok"] is False


def test_an_edited_file_and_a_broken_line_are_named(invoke: Invoke, run_dir: Path) -> None:
    summary = run_dir / "summary.json"
    summary.write_text(re.sub(r'"test_hard": [\d.]+', '"test_hard": 0.99', summary.read_text()))
    assert "summary.json: test_hard" in invoke("verify", run_dir, code=1).output
    log = run_dir / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"seq":4', b'"seq":5', 1))
    said = invoke("verify", run_dir, code=1).output
    assert "line 4" in said and str(run_dir) not in said


def test_the_report_holds_no_path_and_its_figures_are_verified(invoke: Invoke, run_dir: Path) -> None:
    invoke("report", run_dir)
    invoke("report", run_dir, "--format", "md")
    page, text = (run_dir / "report.html").read_text(), (run_dir / "report.md").read_text()
    for written in (page, text):
        assert str(run_dir.parent) not in written and "/tmp/" not in written and "item by item" in written
    assert "<script src" not in page and "http://" not in page.replace("http://127.0.0.1", "") and "<svg" in page
    checks = json.loads(invoke("verify", run_dir, "--json").stdout)["checks"]
    assert {check["name"]: check["compared"] for check in checks}["reports"] == 2
    (run_dir / "report.html").write_text(re.sub(r'"naive": [\d.]+', '"naive": 0.123', page))
    assert "report.html: selection" in invoke("verify", run_dir, code=1).output


def test_calibrate_and_replicate_enter_the_report(invoke: Invoke, run_dir: Path, server: LoopbackServer) -> None:
    before = server.stats()["requests"]
    assert "quote:" in invoke("calibrate", run_dir, "--dry-run").output
    assert server.stats()["requests"] == before
    found = json.loads(invoke("calibrate", run_dir, "--json").stdout)
    assert found["items"] == 12 and 0 < found["changed"] < 12 and found["needed"] > 0
    spent = server.stats()["requests"]
    assert "of 12 items changed their outcome" in invoke("calibrate", run_dir).output
    assert server.stats()["requests"] == spent, "a finished calibration costs nothing again"
    invoke("report", run_dir, "--replicate")
    page = (run_dir / "report.html").read_text()
    assert "Measured afresh" in page and "changed their outcome" in page
    assert json.loads(invoke("verify", run_dir, "--json").stdout)["ok"]


def test_compare(invoke: Invoke, trained: Path) -> None:
    found = json.loads(invoke("compare", trained / "run", trained / "race", "--json").stdout)
    (difference,) = found["differences"]
    assert found["items"] == 14 and difference["change"]["low"] <= difference["change"]["value"]
    refused = invoke("compare", trained / "run", trained / "fewer", code=2).exception
    assert "14 and 6, of which 6 are shared" in str(refused)
    assert "twice" in invoke("compare", trained / "run", trained / "run", code=2).output


def test_blame_and_ablate(invoke: Invoke, run_dir: Path) -> None:
    rows = json.loads(invoke("blame", run_dir, "--json").stdout)
    brought = [row for row in rows if row["text"].startswith("Rule ")]
    assert brought and all(row["at"].startswith("e01s") and row["support"] for row in brought)
    mine = run_dir.parent / "mine.md"
    mine.write_text((run_dir / "best_skill.md").read_text() + "\nMy own line.\n")
    assert re.search(r"by hand +My own line", invoke("blame", mine, "--run", run_dir).output)
    assert "--run RUN" in invoke("blame", mine, code=2).output
    found = json.loads(invoke("ablate", run_dir, "--json").stdout)
    names = {f"{row['at']}.{row['edit']}" for row in brought}
    assert names <= {each["name"] for each in found}
    assert all(each["worth"]["n"] == 12 for each in found)
    assert "opens the test split again" in invoke("ablate", run_dir, "--split", "test", "--dry-run").output


def test_shrink_proposes_and_touches_nothing(invoke: Invoke, run_dir: Path) -> None:
    before = {p: p.read_bytes() for p in run_dir.rglob("*") if p.is_file()}
    done = invoke("shrink", run_dir, "--margin", "0.5", "--trials", "2")
    assert "The proposal is" in done.output
    proposed = (run_dir / "claims" / "shrink" / "proposed_skill.md").read_text()
    assert len(proposed) < len((run_dir / "best_skill.md").read_text())
    assert {p: p.read_bytes() for p in before} == before


def test_what_is_no_run_is_said(invoke: Invoke, tmp_path: Path) -> None:
    for command in ("report", "verify", "ablate"):
        assert "is not a run" in invoke(command, tmp_path / "nothing", code=2).output
