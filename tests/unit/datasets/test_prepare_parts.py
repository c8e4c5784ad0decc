"""Id manifests, hostile archives and the hub, each on its own."""

from __future__ import annotations

import io
import json
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.datasets.prepare.recipe import HubPlace
from skillopt.datasets.prepare.run import Order, prepare
from skillopt.datasets.prepare.unpack import Limits, unpack
from skillopt.datasets.sources import Row
from skillopt.errors import DataError


def clues(count: int) -> list[Row]:
    return [{"key": f"k{i}", "question": f"clue {i}", "context": "c", "answers": [f"a{i}"]} for i in range(count)]


def manifest(folder: Path, **splits: list[str]) -> Path:
    for name, ids in splits.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "items.json").write_text(json.dumps([{"id": id} for id in ids]))
    return folder


def ids(out: Path, split: str) -> list[str]:
    return [row["id"] for row in json.loads((out / split / "items.json").read_text())]


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(clues(10)))
    return str(path)


def test_a_manifest_decides_membership_and_order(tmp_path: Path, source: str) -> None:
    wanted = manifest(tmp_path / "ids", train=["k9", "k1"], val=["k4"], test=["k0", "k8", "k2"])
    prepare(Order("searchqa", (source,), tmp_path / "out", manifest=wanted))
    assert [ids(tmp_path / "out", name) for name in ("train", "val", "test")] == [
        ["k9", "k1"],
        ["k4"],
        ["k0", "k8", "k2"],
    ]
    told = json.loads((tmp_path / "out" / "split_manifest.json").read_text())
    assert (told["split_mode"], told["manifest"]["name"], told["missing"]) == ("manifest", "ids", 0)
    assert len(told["manifest"]["sha256"]) == 64


@pytest.mark.parametrize(
    "value",
    [
        {"train": ["k1"], "val": [{"id": "k2"}], "test": ["k3"]},
        [{"id": "k1", "split": "train"}, {"id": "k2", "split": "valid_seen"}, {"id": "k3", "split": "test"}],
    ],
)
def test_a_manifest_in_one_file(tmp_path: Path, source: str, value: object) -> None:
    path = tmp_path / "ids.json"
    path.write_text(json.dumps(value))
    prepare(Order("searchqa", (source,), tmp_path / "out", manifest=path))
    assert [ids(tmp_path / "out", name) for name in ("train", "val", "test")] == [["k1"], ["k2"], ["k3"]]


def test_a_wrong_manifest_names_its_ids(tmp_path: Path, source: str) -> None:
    twice = manifest(tmp_path / "ids", train=["k1", "k1"], val=["k2"], test=["k2", "k3"])
    with pytest.raises(DataError) as refused:
        prepare(Order("searchqa", (source,), tmp_path / "out", manifest=twice))
    assert "more than once in train: 'k1'" in str(refused.value)
    assert "both in val and in test: 'k2'" in str(refused.value)


def test_missing_ids_stop_unless_allowed(tmp_path: Path, source: str) -> None:
    wanted = manifest(tmp_path / "ids", train=["k1", "gone"], val=["k2"], test=["k3"])
    with pytest.raises(DataError, match="1 ids of the manifest are not in the source: 'train:gone'"):
        prepare(Order("searchqa", (source,), tmp_path / "out", manifest=wanted))
    done = prepare(Order("searchqa", (source,), tmp_path / "out", manifest=wanted, allow_missing=True))
    assert done.counts == {"train": 1, "val": 1, "test": 1}
    assert "1 ids of the manifest" in done.notes[0]


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "jsonl.gz"])
def test_archives_are_read_as_folders(tmp_path: Path, kind: str) -> None:
    lines = "\n".join(map(json.dumps, clues(10))).encode()
    path = tmp_path / f"rows.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("deep/rows.jsonl", lines)
            file.writestr("__MACOSX/deep/._rows.jsonl", b"\0")
    elif kind == "tar.gz":
        add_to_tar(path, "deep/rows.jsonl", lines)
    else:
        import gzip

        path.write_bytes(gzip.compress(lines))
    assert sum(prepare(Order("searchqa", (str(path),), tmp_path / "out")).counts.values()) == 10


def add_to_tar(path: Path, name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE) -> None:
    with tarfile.open(path, "w:gz") as file:
        member = tarfile.TarInfo(name)
        member.size, member.type, member.linkname = len(content), kind, "/etc/passwd"
        file.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("name", ["../out.txt", "/abs.txt", "a/../../out.txt", "a\\..\\out.txt", "C:out.txt"])
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_nothing_is_written_outside(tmp_path: Path, name: str, kind: str) -> None:
    path, room = tmp_path / f"bad.{kind}", tmp_path / "deep" / "room"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(name, "x")
    else:
        add_to_tar(path, name, b"x")
    with pytest.raises(DataError, match="outside"):
        unpack(path, room)
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == [path.name]


def test_links_are_refused(tmp_path: Path) -> None:
    add_to_tar(tmp_path / "a.tgz", "link", kind=tarfile.SYMTYPE)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as file:
        member = zipfile.ZipInfo("link")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(member, "/etc/passwd")
    for name in ("a.tgz", "b.zip"):
        with pytest.raises(DataError, match="link or a device"):
            unpack(tmp_path / name, tmp_path / "room")


def test_size_and_number_are_limited(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("one", b"0" * 5_000_000)
        file.writestr("two", b"0")
    with pytest.raises(DataError, match="more than is allowed"):
        unpack(tmp_path / "a.zip", tmp_path / "r1", Limits(size=1_000_000))
    with pytest.raises(DataError, match="more than 1 files"):
        unpack(tmp_path / "a.zip", tmp_path / "r2", Limits(files=1))


@pytest.mark.parametrize("name", ["a.zip", "a.tar.xz", "a.tgz", "a.json.gz"])
def test_a_broken_archive_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no archive at all")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(tmp_path / name, tmp_path / "room")


class StubHub:
    """Rows and files as the hub would give them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.asked = error, list[HubPlace]()

    def rows(self, place: HubPlace) -> Iterator[Row]:
        self.asked.append(place)
        if self.error:
            raise self.error
        for i in range(10):
            page = {"bytes": b"\x89PNG page", "path": "x.png"}
            yield {"questionId": i, "question": f"q{i}", "answers": ["a"], "image": page, **clues(10)[i]}

    def files(self, place: HubPlace, into: Path) -> None:
        self.asked.append(place)
        if self.error:
            raise self.error
        (into / "data" / "202511").mkdir(parents=True)
        items = [
            {"no": n, "month": "202511", "question": "q", "choices": ["a", "b"], "correct_choice": "B"}
            for n in range(10)
        ]
        (into / "data" / "202511" / "qa_202511_final.json").write_text(json.dumps(items))


@pytest.mark.parametrize("benchmark", ["searchqa", "docvqa", "livemathematicianbench"])
def test_from_the_hub(tmp_path: Path, benchmark: str) -> None:
    hub = StubHub()
    done = prepare(Order(benchmark, (), tmp_path / "out", from_hub=True), hub=hub)
    assert done.counts == {"train": 2, "val": 1, "test": 7}
    told = json.loads((tmp_path / "out" / "split_manifest.json").read_text())
    assert told["hub"] == hub.asked[0].repository
    assert len(told["sources"][0]["sha256"]) == 64
    if benchmark == "docvqa":
        assert done.files == 1
        assert hub.asked[0] == HubPlace("lmms-lab/DocVQA", "DocVQA", "validation")


@pytest.mark.parametrize("benchmark", ["searchqa", "officeqa", "alfworld"])
def test_a_hub_out_of_reach_says_what_to_fetch_by_hand(tmp_path: Path, benchmark: str) -> None:
    with pytest.raises(DataError, match="By hand: "):
        prepare(Order(benchmark, (), tmp_path / "out", from_hub=True), hub=StubHub(ConnectionError("no route")))
    assert not (tmp_path / "out").exists()
