"""Followers read what is new and nothing twice; the catalogue knows runs by names that cannot leave its folder."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from skillopt.journal.events import RolloutDone
from skillopt.journal.log import Journal
from skillopt.journal.view import RunView
from skillopt_webui.reading.catalogue import Catalogue
from skillopt_webui.reading.follower import Follower, follow_now
from skillopt_webui.reading.library import KEPT, Library
from skillopt_webui.reading.summary import standing

Writer = Any


def test_a_slim_fold_ends_where_the_full_one_does(writer: Writer) -> None:
    writer.whole()
    slim, full = follow_now(writer.directory).view, RunView.of(Journal.read(writer.directory))
    assert slim.events == full.events and slim.status == full.status and slim.state == full.state
    assert slim.usage == full.usage and slim.missing == full.missing and slim.skills == full.skills
    assert [s.tally for s in slim.steps] == [s.tally for s in full.steps]


def test_only_new_lines_are_read(writer: Writer) -> None:
    writer.start()
    writer.attempt("a", True)
    follower = follow_now(writer.directory)
    before = follower.offset
    assert follower.view.events == 2 and not follower.look()
    writer.attempt("b", False)
    assert follower.look() and not follower.advance(1.0)
    assert follower.view.events == 3 and follower.offset > before
    assert [row.id for row in follower.ledger.items.values()] == ["a", "b"]


def test_half_a_line_waits_for_its_end(writer: Writer) -> None:
    writer.start()
    line = writer.line(RolloutDone.model_validate_json(_rollout()))
    with writer.path.open("ab") as file:
        file.write(line[:50])
    follower = follow_now(writer.directory)
    assert follower.view.events == 1 and not follower.error
    with writer.path.open("ab") as file:
        file.write(line[50:])
    follower.look()
    follower.advance(1.0)
    assert follower.view.events == 2


def test_a_replaced_journal_is_read_anew(writer: Writer, new_writer: Writer) -> None:
    writer.whole()
    follower = follow_now(writer.directory)
    shutil.rmtree(writer.directory)
    again = new_writer(writer.directory)
    again.start()
    follower.look()
    follower.advance(1.0)
    assert follower.view.events == 1 and follower.view.finished is None and not follower.ledger.items


def test_a_damaged_line_is_said_and_what_came_before_is_kept(writer: Writer) -> None:
    writer.start()
    with writer.path.open("ab") as file:
        file.write(b'{"v":1,"seq":2,"ts":1,"key":"x","body":{"type":"rollout","at":1}}\n')
    follower = follow_now(writer.directory)
    assert follower.view.started is not None and "line 2" in follower.error
    assert not follower.behind


def test_a_transcript_is_read_where_it_lies_blobs_included(writer: Writer) -> None:
    writer.start()
    writer.attempt("a", True, text="long " * 3000)
    writer.attempt("b", True)
    follower = follow_now(writer.directory)
    first = next(iter(follower.ledger.items.values())).attempts[0]
    assert first.rollout.trajectory == () and first.rollout.answer == ""
    body = follower.event_of(first).body
    assert isinstance(body, RolloutDone) and body.rollout.trajectory[2].text == "long " * 3000


def test_the_accounts_are_those_of_the_view(writer: Writer) -> None:
    writer.whole()
    follower = follow_now(writer.directory)
    total = sum((u.total_tokens for u in follower.view.usage.values()), 0)
    assert follower.ledger.total().tokens == total
    assert follower.ledger.by_role()["target"].retries == 6 and follower.ledger.by_role()["optimizer"].calls == 1


def test_names_in_addresses_are_looked_up(writer: Writer, tmp_path: Path) -> None:
    writer.start()
    catalogue = Catalogue(tmp_path / "outputs")
    assert [e.id for e in catalogue.entries()] == ["searchqa~one"]
    for wish in ("../outputs", "searchqa/one", "..", "", "%2e%2e", "searchqa~one/../.."):
        assert catalogue.get(wish) is None


def test_two_runs_whose_names_look_alike_stay_apart(tmp_path: Path, new_writer: Writer) -> None:
    for name in ("a b", "a~b"):
        new_writer(tmp_path / name).start()
    entries = Catalogue(tmp_path).entries()
    assert len({e.id for e in entries}) == 2


def test_a_link_out_of_the_folder_is_not_followed(writer: Writer, tmp_path: Path) -> None:
    writer.start()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "away").symlink_to(writer.directory, target_is_directory=True)
    assert not Catalogue(tmp_path / "other").entries()


async def test_a_page_gets_what_is_known_while_reading_goes_on(writer: Writer, tmp_path: Path) -> None:
    writer.start()
    for n in range(3000):
        writer.attempt(f"i{n}", True)
    library = Library(tmp_path / "outputs")
    entry = library.catalogue.entries()[0]
    follower = await library.open(entry, patience=0.0)
    assert follower.behind and follower.view.events < 3001
    for _ in range(2000):
        await asyncio.sleep(0.01)
        if not follower.behind:
            break
    assert follower.view.events == 3001
    await library.close()


async def test_only_a_few_runs_stay_in_memory(tmp_path: Path, new_writer: Writer) -> None:
    for n in range(KEPT + 4):
        new_writer(tmp_path / f"r{n}").whole()
    library = Library(tmp_path)
    await library.listed(patience=30)
    entries = library.catalogue.entries()
    assert sum(e.follower is not None for e in entries) <= KEPT
    assert all(e.summary is not None and e.summary.best == 0.5 for e in entries)
    await library.close()


@pytest.mark.parametrize(
    ("status", "pid", "left", "quiet", "word"),
    [
        ("running", 7, False, 900, "running"),
        ("running", None, True, 60, "interrupted"),
        ("running", None, False, 5, "running"),
        ("running", None, False, 900, "interrupted"),
        ("stopped", None, False, 5, "stopped"),
        ("stopped", 7, False, 5, "stopping"),
        ("empty", 7, False, 0, "starting"),
        ("empty", None, False, 0, "failed"),
        ("finished", None, True, 900, "finished"),
    ],
)
def test_how_a_run_stands(status: str, pid: int | None, left: bool, quiet: float, word: str) -> None:
    assert standing(status, "", "", pid=pid, left=left, quiet=quiet).word == word


def _rollout() -> str:
    return (
        '{"at":"baseline","stage":"val","rollout":{"item":"a","item_digest":"d","skill":"s","draw":"val","kind":"qa",'
        '"score":{"hard":1.0,"soft":1.0,"detail":{}},"failure":null}}'
    )


def test_a_follower_of_nothing_is_empty(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert not follower.look() and not follower.behind and follower.view.started is None
