"""A skill and a file of one's own through the real command line: init, train, apply, and every bad file."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillopt.testing.server import LoopbackServer
from skillopt.testing.tickets import SKILL, Tickets, make_tickets, write_examples

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread(Tickets(0)) as server:
        yield server


def environ(server: LoopbackServer) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    return {**kept, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test", "NO_COLOR": "1"}


@pytest.fixture
def skillopt(server: LoopbackServer, tmp_path: Path) -> Run:
    write_examples(tmp_path, 60)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "skillopt.cli", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environ(server), capture_output=True, text=True, timeout=60, check=False
        )

    return run


TRAIN = ("train", "--plain", "--num_epochs", "1", "--skill", "SKILL.md", "--data")


def test_train_without_a_configuration_and_apply(skillopt: Run, tmp_path: Path) -> None:
    done = skillopt(*TRAIN, "examples.csv")
    assert done.returncode == 0, done.stderr
    assert "input 'ticket' (guessed), answer 'team' (guessed); scorer choice (guessed)" in done.stdout
    assert "test lift" in done.stdout and "95% interval +" in done.stdout and "24 paired items" in done.stdout
    assert "+- Tickets about" in done.stdout and "skillopt apply SKILL.proposed.md" in done.stdout
    assert (tmp_path / "SKILL.md").read_text() == SKILL
    proposed = (tmp_path / "SKILL.proposed.md").read_text()
    assert proposed.startswith(SKILL.partition("# Ticket")[0]) and proposed != SKILL

    applied = skillopt("apply")
    assert applied.returncode == 0, applied.stderr
    assert (tmp_path / "SKILL.md").read_text() == proposed
    (backup,) = tmp_path.glob("SKILL.md.bak-*")
    assert backup.read_text() == SKILL and not (tmp_path / "SKILL.proposed.md").exists()
    assert "already has this text" in skillopt("apply").stdout


def test_apply_refuses_a_file_that_has_changed(skillopt: Run, tmp_path: Path) -> None:
    assert skillopt(*TRAIN, "examples.csv").returncode == 0
    (tmp_path / "SKILL.md").write_text(SKILL + "\nMine.\n")
    done = skillopt("apply", "SKILL.proposed.md")
    assert done.returncode == 2 and "has changed since" in done.stderr
    assert (tmp_path / "SKILL.md").read_text() == SKILL + "\nMine.\n" and not list(tmp_path.glob("*.bak-*"))


def test_apply_takes_a_proposal_that_was_edited_by_hand(skillopt: Run, tmp_path: Path) -> None:
    assert skillopt(*TRAIN, "examples.csv").returncode == 0
    proposal = tmp_path / "SKILL.proposed.md"
    proposal.write_text(proposal.read_text() + "\n- Be polite.\n")
    assert skillopt("apply", "SKILL.proposed.md").returncode == 0
    assert (tmp_path / "SKILL.md").read_text().endswith("\n- Be polite.\n")


def test_apply_without_anything_to_apply(skillopt: Run, tmp_path: Path) -> None:
    assert "there is no proposal" in skillopt("apply").stderr
    (tmp_path / "other.proposed.md").write_text("x")
    assert "nobody knows what it was trained from" in skillopt("apply", "other.proposed.md").stderr
    assert "neither a run nor a proposal" in skillopt("apply", "nothing").stderr


def test_init_then_train_reads_the_file_here(skillopt: Run, tmp_path: Path) -> None:
    made = skillopt("init", "--data", "examples.csv", "--target", "gpt-5.5", "--label", "team")
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "skillopt.yaml").read_text()
    assert "scorer: choice" in text and "input: ticket" in text and "# " in text and len(text.splitlines()) < 30
    again = skillopt("init", "--data", "examples.csv")
    assert again.returncode == 2 and "--force" in again.stderr
    done = skillopt("train", "--plain", "--cfg-options", "train.num_epochs=1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "SKILL.proposed.md").exists()
    shown = skillopt("config", "explain", "env.scorer", "train.batch_size")
    assert "choice  (skillopt.yaml:" in shown.stdout and "12  (skillopt.yaml:" in shown.stdout
    scored = skillopt("eval", "--plain", "--skill", "SKILL.proposed.md", "--split", "test")
    assert scored.returncode == 0 and "hard 1.00" in scored.stdout, scored.stderr


def test_init_checks_before_it_writes(skillopt: Run, tmp_path: Path) -> None:
    for arguments, words in (
        (("--data", "examples.csv", "--answer", "taem"), "Did you mean 'team'?"),
        (("--data", "examples.csv", "--skill", "SKIL.md"), "Did you mean SKILL.md?"),
        (("--data", "examples.csv", "--scorer", "judge"), "rubric"),
        (("--data", "nothing.csv"), "does not exist"),
    ):
        done = skillopt("init", *arguments)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and not (tmp_path / "skillopt.yaml").exists()


def test_init_asks_in_a_terminal(server: LoopbackServer, tmp_path: Path) -> None:
    write_examples(tmp_path, 60)
    outside, inside = pty.openpty()
    command = [sys.executable, "-m", "skillopt.cli", "init"]
    child = subprocess.Popen(command, cwd=tmp_path, env=environ(server), stdin=inside, stdout=inside, stderr=inside)
    os.close(inside)
    heard: list[bytes] = []

    def listen() -> None:
        try:
            while chunk := os.read(outside, 4096):
                heard.append(chunk)
        except OSError:
            pass

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    # Skill, data, scorer, target, optimizer: the first two by their defaults.
    os.write(outside, b"\n\nexact\nsmall-model\n\n")
    assert child.wait(30) == 0, b"".join(heard).decode()
    listener.join(2)
    os.close(outside)
    text = (tmp_path / "skillopt.yaml").read_text()
    assert "scorer: exact" in text and "target: small-model" in text and "optimizer: small-model" in text
    assert "How is an output scored?" in b"".join(heard).decode()


def quoted(rows: list[dict[str, str]], separator: str = ",", end: str = "\n") -> str:
    lines = [f'"{row["ticket"]} He said ""now""{separator} twice.{end}Bye."{separator}{row["team"]}' for row in rows]
    return end.join([f"ticket{separator}team", *lines, ""])


ROWS = make_tickets(30)


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        (quoted(ROWS), ("--answer", "taem"), ("no column 'taem'", "Did you mean 'team'?", "Columns: ticket, team")),
        (quoted(ROWS), ("--input", "Ticket"), ("no column 'Ticket'", "Did you mean 'ticket'?")),
        ("", (), ("the file is empty",)),
        ("ticket,team\n", (), ("there are no rows",)),
        (quoted(ROWS).replace(",ledger", ",", 1), (), ("('team') is empty", "row 2", "fill it in or delete the row")),
        (quoted(ROWS)[:-30], (), ("line",)),
        (quoted(ROWS[:2]), (), ("cannot be cut",)),
        (quoted(ROWS), ("--scorer", "exat"), ("did you mean 'exact'?",)),
    ],
    ids=[
        "wrong answer column",
        "wrong input column",
        "empty",
        "header only",
        "label missing",
        "torn",
        "tiny",
        "scorer",
    ],
)
def test_bad_files_are_refused_before_any_call(
    skillopt: Run,
    server: LoopbackServer,
    tmp_path: Path,
    content: str,
    arguments: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    (tmp_path / "mine.csv").write_text(content, encoding="utf-8")
    before = server.stats()["requests"]
    done = skillopt(*TRAIN, "mine.csv", *arguments)
    assert done.returncode == 2, done.stdout
    assert server.stats()["requests"] == before and "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize(
    "content",
    [
        ("\ufeff" + quoted(ROWS, ";", "\r\n")).encode(),
        quoted(ROWS, "\t").encode("utf-16"),
        (quoted(ROWS) + f'"my parcel {"x" * 1_000_000}",harbour\n').encode(),
        (quoted(ROWS) + "my parcel,attic\n").encode(),
    ],
    ids=["excel mark, semicolons, quotes", "unicode text, tabs", "a cell of 1 MB", "a label met once"],
)
def test_odd_files_are_simply_right(skillopt: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.csv").write_bytes(content)
    done = skillopt(*TRAIN, "mine.csv")
    assert done.returncode == 0, done.stderr
    assert "test lift" in done.stdout and (tmp_path / "SKILL.proposed.md").exists()
    assert b"attic" not in content or "has the label 'attic': add examples of it" in done.stdout
    assert len(content) < 10**6 or "longer than 200,000 characters" in done.stdout


def test_nothing_given(skillopt: Run) -> None:
    done = skillopt("eval", "--skill", "SKILL.md")
    assert done.returncode == 2 and "skillopt init" in done.stderr
