"""Whatever comes out of a box is foreign: names, links, sizes and frames."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt.agents.sandbox import collect
from skillopt.agents.sandbox.inside import parcel
from skillopt.agents.sandbox.results import Arrival


def test_collect_takes_regular_files_only(tmp_path: Path) -> None:
    work, secret = tmp_path / "work", tmp_path / "secret"
    (work / "folder").mkdir(parents=True)
    secret.write_text("gold")
    (work / "folder" / "file").write_text("fine")
    (work / "link").symlink_to(secret)
    (work / "way").symlink_to(tmp_path)
    os.mkfifo(work / "pipe")
    assert collect(work, "folder/file") == b"fine"
    names = (
        "link",
        "way/secret",
        "pipe",
        "folder",
        "absent",
        "../secret",
        str(secret),
        "",
        ".",
        "folder/../link",
        "a\0b",
    )
    assert [name for name in names if collect(work, name) is not None] == []


def test_collect_refuses_what_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert collect(tmp_path, "x", max_bytes=5) == b"12345"
    assert collect(tmp_path, "x", max_bytes=4) is None


@pytest.mark.parametrize(
    "frames",
    [
        [(parcel.FILE, b"../x")],
        [(parcel.FILE, b"/etc/x")],
        [(parcel.FOLDER, b"a/../../x")],
        [(parcel.FILE, b"a//b")],
        [(parcel.FILE, b"a\0b")],
        [(parcel.FILE, b"a" * 5000)],
        [(parcel.SAME, b"never-sent")],
        [(parcel.CHUNK, b"no file")],
        [(parcel.FILE, b"x"), (parcel.CHUNK, b"12345678901")],
        [(b"?", b"x")],
        [(parcel.FOLDER, b"x")] * (parcel.MOST_ENTRIES + 2),
    ],
)
def test_a_dishonest_box_changes_nothing(tmp_path: Path, frames: list[tuple[bytes, bytes]]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("a")
    with pytest.raises(ValueError), Arrival(work, 10, frozenset({b"a"})) as arrival:
        for frame in frames:
            arrival.take(*frame)
    assert [path.name for path in tmp_path.rglob("*")] == ["work", "a"]


def test_a_link_on_the_way_is_replaced_and_never_followed(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "x").write_text("old")
    (work / "way").symlink_to(outside)
    (work / "last").symlink_to(outside / "x")
    with Arrival(work, 10, frozenset()) as arrival:
        for frame in ((parcel.FILE, b"way/x"), (parcel.CHUNK, b"new"), (parcel.FILE, b"last"), (parcel.CHUNK, b"new")):
            arrival.take(*frame)
        arrival.settle()
    assert (outside / "x").read_text() == "old"
    assert (work / "way" / "x").read_text() == (work / "last").read_text() == "new"
    assert not (work / "way").is_symlink()


def test_packing_stops_at_the_room_there_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(6))
    os.link(tmp_path / "a", tmp_path / "b")
    frames = list(parcel.pack(os.fsencode(tmp_path), 10, {}))
    assert frames == [(parcel.FILE, b"a"), (parcel.CHUNK, bytes(6)), (parcel.REFUSED, b"b")]


def test_a_file_is_known_again_only_while_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    known = {b"a": parcel.signature(os.fsencode(path))}
    assert list(parcel.pack(os.fsencode(tmp_path), 10, known)) == [(parcel.SAME, b"a")]
    was = path.stat()
    while parcel.signature(os.fsencode(path)) == known[b"a"]:
        path.write_text("2")
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (parcel.CHUNK, b"2") in list(parcel.pack(os.fsencode(tmp_path), 10, known))


def test_a_frame_of_absurd_length_is_refused() -> None:
    with pytest.raises(ValueError):
        parcel.header(b"C" + (1 << 31).to_bytes(4, "little"))
