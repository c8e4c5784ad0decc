from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import JournalError
from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import LONG, decode, encode
from skillopt.journal.events import VERSION, Event, RolloutDone, RunStarted, RunStopped
from skillopt.journal.migrate import Migrations
from skillopt.types import Rollout, Score, Turn


def started(config: dict[str, object]) -> Event:
    body = RunStarted(skillopt="1", config=config, prompts={}, data={}, seed_skill="s")
    return Event(seq=1, ts=1.5, key="run", body=body)


def rolled(score: Score, text: str = "t") -> Event:
    rollout = Rollout("i", "d", "s", "val", "qa", score, None, "a", (Turn("user", text),))
    return Event(seq=1, ts=1.5, key="r", body=RolloutDone(at="baseline", stage="val", rollout=rollout))


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def test_a_short_event_is_one_line_without_blobs(blobs: Blobs, tmp_path: Path) -> None:
    event = rolled(Score(1.0, 0.5, {"two": "lines\n\u2028"}), "é" * 100)
    line = encode(event, blobs.put)
    assert line.count(b"\n") == 1
    assert decode(line, blobs.get) == event
    assert not (tmp_path / "blobs").exists()


def test_long_texts_go_to_blobs_and_come_back(blobs: Blobs, tmp_path: Path) -> None:
    event = rolled(Score(1.0, 0.5, {"deep": [{"text": "x" * (LONG + 1)}]}), "ü" * (LONG + 1))
    line = encode(event, blobs.put)
    assert len(line) < 1000
    assert decode(line, blobs.get) == event
    assert len(list((tmp_path / "blobs").iterdir())) == 2


def test_the_limit_counts_characters(blobs: Blobs, tmp_path: Path) -> None:
    encode(rolled(Score(1, 1), "ü" * LONG), blobs.put)
    assert not (tmp_path / "blobs").exists()


@pytest.mark.parametrize(
    "value", [{"$blob": "abc"}, {"$$blob": {"$blob": 1}}, {"$blob": 1, "b": 2}, "$blob", ['"$blob"']]
)
def test_values_that_look_like_a_mark_round_trip(blobs: Blobs, value: object) -> None:
    event = started({"user": value, "long": "x" * 5000})
    assert decode(encode(event, blobs.put), blobs.get) == event


def test_numbers_json_lacks_round_trip(blobs: Blobs) -> None:
    event = rolled(Score(1.0, float("inf"), {"x": float("-inf")}))
    assert decode(encode(event, blobs.put), blobs.get) == event


def test_a_value_json_cannot_hold_is_refused_by_name(blobs: Blobs) -> None:
    with pytest.raises(JournalError, match="'r' cannot be recorded"):
        encode(rolled(Score(1, 1, {"x": object()})), blobs.put)


def test_a_missing_or_damaged_text_names_the_event(blobs: Blobs, tmp_path: Path) -> None:
    line = encode(rolled(Score(1, 1), "x" * 5000), blobs.put)
    (blob,) = (tmp_path / "blobs").iterdir()
    blob.write_text("other")
    with pytest.raises(JournalError, match=r"damaged.*event 'r'"):
        decode(line, blobs.get)
    blob.unlink()
    with pytest.raises(JournalError, match=r"missing.*event 'r'"):
        decode(line, blobs.get)


def test_a_text_is_stored_once(blobs: Blobs, tmp_path: Path) -> None:
    name = blobs.put("text")
    stamp = (tmp_path / "blobs" / name).stat().st_mtime_ns
    assert blobs.put("text") == name
    assert (tmp_path / "blobs" / name).stat().st_mtime_ns == stamp
    assert blobs.get(name) == "text"


def test_a_newer_journal_is_refused(blobs: Blobs) -> None:
    event = Event(v=VERSION + 1, seq=1, ts=0, key="k", body=RunStopped(reason="r"))
    with pytest.raises(JournalError, match="newer skillopt"):
        decode(encode(event, blobs.put), blobs.get)


def test_an_old_event_passes_every_migration_in_order() -> None:
    migrations = Migrations(3)
    migrations.leaving(1)(lambda raw: raw | {"trail": "1"})
    migrations.leaving(2)(lambda raw: raw | {"trail": raw["trail"] + "2"})
    assert migrations.upgrade({"v": 1}) == {"v": 3, "trail": "12"}
    assert migrations.upgrade({"v": 3}) == {"v": 3}
    with pytest.raises(JournalError):
        migrations.upgrade({})


def test_what_is_no_event_is_an_error_for_people(blobs: Blobs) -> None:
    for line in (b"[]\n", b"{}\n", b"nonsense\n", b'{"v":1,"seq":1,"ts":0,"key":"k","body":{"type":"?"}}\n'):
        with pytest.raises(JournalError):
            decode(line, blobs.get)


def test_trajectories_compare_after_a_round_trip(blobs: Blobs) -> None:
    event = rolled(Score(0.0, 0.0))
    body = decode(encode(event, blobs.put), blobs.get).body
    assert isinstance(body, RolloutDone)
    assert replace(body.rollout, answer="z") != body.rollout
