"""`skillopt export`: where the skill lands, what it says of itself, and whose files are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skillopt import __version__, export
from skillopt.cli import cli
from skillopt.cli.export import _FORMATS
from skillopt.skill.document import Skill
from skillopt.skill.package import split_front_matter
from skillopt.testing.server import LoopbackServer
from skillopt.testing.trial import Trial
from skillopt.testing.world import World

CONFIG = Path(__file__).parents[3] / "configs" / "searchqa" / "default.yaml"
FRONT = "---\nname: clue-reader\ndescription: 'Reads clues: use it for questions with passages'\nlicense: MIT\n---\n"
SEED = f"{FRONT}\n# Clues\n\nRead the question first.\n"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("SKILL.md").write_text(SEED)


def exported(*args: str) -> Result:
    # Errors of the house are turned into words by `main`; here they are looked at themselves.
    return CliRunner().invoke(cli, ["export", *args])


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("agent-skill", "clue-reader/SKILL.md"),
        ("claude", ".claude/skills/clue-reader/SKILL.md"),
        ("codex", ".agents/skills/clue-reader/SKILL.md"),
    ],
)
def test_a_skill_lands_where_each_agent_looks_with_its_front_matter_as_it_was(kind: str, path: str) -> None:
    result = exported("--format", kind, "SKILL.md")
    assert result.exit_code == 0, result.exception
    text = Path(path).read_text()
    assert text.startswith(SEED) and f"Written by SkillOpt {__version__}" in text
    assert "nothing was changed" in exported("--format", kind, "SKILL.md").output
    assert Path(path).read_text() == text


def test_every_format_is_known_to_the_command() -> None:
    assert export.FORMATS == _FORMATS


def test_a_skill_without_front_matter_gets_one_and_its_other_fields_survive(tmp_path: Path) -> None:
    Path("plain.md").write_text("# Ticket Routing (v2)\n\nRoute.\n")
    assert "--description" in str(exported("--format", "claude", "plain.md").exception)
    assert not Path(".claude").exists()
    assert exported("--format", "claude", "plain.md", "--description", "Routes: tickets").exit_code == 0
    made = split_front_matter(Path(".claude/skills/ticket-routing-v2/SKILL.md").read_text())
    assert made.front and dict(made.front.fields) == {"name": "ticket-routing-v2", "description": "Routes: tickets"}
    assert exported("--format", "claude", "SKILL.md", "--name", "other", "--out", "there").exit_code == 0
    other = split_front_matter((tmp_path / "there/.claude/skills/other/SKILL.md").read_text())
    assert other.front and (other.front.fields["name"], other.front.fields["license"]) == ("other", "MIT")


@pytest.mark.parametrize("name", ["Bad Name", "../up", "a--b", "x" * 65])
@pytest.mark.parametrize("kind", ["claude", "agents-md"])
def test_a_name_that_no_agent_takes_is_refused_and_is_never_a_path(kind: str, name: str) -> None:
    before = sorted(Path().rglob("*"))
    assert "cannot name a skill package" in str(exported("--format", kind, "SKILL.md", "--name", name).exception)
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("stranger", ["mine\n", ""])
def test_what_skillopt_did_not_write_is_replaced_only_by_force_and_kept(stranger: str) -> None:
    file = Path("clue-reader/SKILL.md")
    file.parent.mkdir()
    file.write_text(stranger)
    assert "SkillOpt did not write it" in str(exported("--format", "agent-skill", "SKILL.md").exception)
    assert file.read_text() == stranger
    assert "the old file is SKILL.md.bak-" in exported("--format", "agent-skill", "SKILL.md", "--force").output
    (backup,) = file.parent.glob("*.bak-*")
    assert backup.read_text() == stranger and file.read_text().startswith(SEED)


def test_its_own_file_is_replaced_by_a_newer_skill_but_not_once_somebody_changed_it() -> None:
    file = Path("clue-reader/SKILL.md")
    exported("--format", "agent-skill", "SKILL.md")
    Path("SKILL.md").write_text(SEED + "- One more rule.\n")
    assert exported("--format", "agent-skill", "SKILL.md").exit_code == 0
    assert "One more rule" in file.read_text() and not list(file.parent.glob("*.bak-*"))
    again = exported("--format", "claude", "clue-reader", "--out", "b")
    assert again.exit_code == 0 and Path("b/.claude/skills/clue-reader/SKILL.md").read_text() == file.read_text()
    file.write_text(file.read_text().replace("One more", "My own"))
    assert "changed since" in str(exported("--format", "agent-skill", "SKILL.md").exception)


def test_only_our_section_of_agents_md_is_written() -> None:
    agents = Path("AGENTS.md")
    agents.write_bytes(b"# Project\r\n\r\nUse tabs.")
    assert exported("--format", "agents-md", "SKILL.md").exit_code == 0
    text = agents.read_bytes().decode()
    assert text.startswith("# Project\r\n\r\nUse tabs.\n\n<!-- skillopt:begin clue-reader;")
    assert "name: clue-reader" not in text and "# Clues" in text
    agents.write_bytes((text + "\n## After\n").encode())
    Path("SKILL.md").write_text(SEED.replace("first", "twice"))
    assert exported("--format", "agents-md", "SKILL.md").exit_code == 0
    newer = agents.read_bytes().decode()
    assert newer.count("skillopt:begin") == 1 and "question twice" in newer and "question first" not in newer
    assert newer.startswith("# Project\r\n\r\nUse tabs.") and newer.endswith("-->\n\n## After\n")
    agents.write_bytes(newer.replace("twice", "thrice").encode())
    assert "changed by hand" in str(exported("--format", "agents-md", "SKILL.md").exception)
    assert "the old file is AGENTS.md.bak-" in exported("--format", "agents-md", "SKILL.md", "--force").output
    assert agents.read_bytes().decode() == newer


def test_a_training_run_keeps_the_front_matter_and_its_export_says_where_it_comes_from(tmp_path: Path) -> None:
    settings = {"train.num_epochs": 1, "train.batch_size": 12, "env.skill_init": str(tmp_path / "SKILL.md")}
    with LoopbackServer.in_thread(World(3), seed=3) as server:
        view = Trial(tmp_path, server.url, CONFIG, settings).write_items(24, 20, 20).train("outputs/qa/run").view
    assert view.state and view.finished and view.state.best.text != view.seed_skill
    assert Skill.load(Path("outputs/qa/run/best_skill.md")).front == FRONT
    assert exported("--format", "claude").exit_code == 0, "the newest run is meant"
    text = Path(".claude/skills/clue-reader/SKILL.md").read_text()
    assert text.startswith(view.state.best.text.rstrip("\n"))
    mark = text.splitlines()[-1]
    before, after = view.finished.baseline_test, view.finished.best_test
    assert f"skill {view.state.best.digest}" in mark and __version__ in mark
    assert f"test {before.hard:.3f} to {after.hard:.3f} (n = 20)" in mark and "validation" in mark
    assert str(tmp_path) not in text and "127.0.0.1" not in text
    assert exported("--format", "codex", "outputs/qa/run/best_skill.md").exit_code == 0
    assert Path(".agents/skills/clue-reader/SKILL.md").read_text() == text


def test_nothing_to_export_is_said() -> None:
    assert "name a run or a skill file" in str(exported("--format", "claude").exception)
    Path("empty.md").write_text("\n")
    assert "the skill is empty" in str(exported("--format", "claude", "empty.md").exception)
