"""Choosing a kind, refusing clearly, what is shown, and the system call filter on machines we do not have."""

from __future__ import annotations

import logging
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.agents.sandbox import Limits, SandboxError, sandbox
from skillopt.agents.sandbox.bubblewrap import Bubblewrap, options
from skillopt.agents.sandbox.inside import calls
from skillopt.agents.sandbox.layout import Layout, layout
from skillopt.agents.sandbox.namespaces import Namespaces
from skillopt.agents.sandbox.plans import Identity
from skillopt.errors import SkillOptError


def test_a_machine_without_means_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str, path: str) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)
    with pytest.raises(SkillOptError) as refusal:
        sandbox("auto")
    text = str(refusal.value)
    assert all(
        word in text for word in ("bubblewrap: bubblewrap is not", "namespaces: unshare", "apt install", '"none"')
    )


def test_a_kind_that_fails_is_refused_with_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)

    def found(name: str, path: str) -> str | None:
        return str(broken) if name == "bwrap" else None

    monkeypatch.setattr(shutil, "which", found)
    with pytest.raises(SandboxError, match="No permissions to create new namespace"):
        sandbox("bubblewrap")


def test_a_kind_that_does_not_isolate_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A starter that only starts: the first process notices that it is not the first."""
    open_door = tmp_path / "bwrap"
    open_door.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift\n'
                         f"cd {Path(calls.__file__).parents[1]}\nexec \"$1\" -I -S -c 'import sys; "
                         "sys.path.insert(0, \".\"); from inside.init import main; main()'\n")  # fmt: skip
    open_door.chmod(0o755)

    def found(name: str, path: str) -> str | None:
        return str(open_door) if name == "bwrap" else None

    monkeypatch.setattr(shutil, "which", found)
    with pytest.raises(SandboxError, match="not the first process"):
        sandbox("bubblewrap")


def test_none_is_a_choice_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert sandbox("none").name == "none"
    assert "without a sandbox" in caplog.text


@pytest.mark.parametrize("kind", [Bubblewrap, Namespaces])
async def test_what_is_covered_is_empty(kind: type[Bubblewrap] | type[Namespaces], tmp_path: Path) -> None:
    (tmp_path / "lib" / "skillopt").mkdir(parents=True)
    (tmp_path / "lib" / "skillopt" / "gold").write_text("gold")
    (tmp_path / "lib" / "other").write_text("other")
    work = tmp_path / "work"
    work.mkdir()
    for folder in (tmp_path, *tmp_path.parents[:2]):
        assert os.access(folder, os.X_OK)
    here = layout()
    lib = str(tmp_path / "lib")
    view = replace(here, shown=(*here.shown, lib), covered=(*here.covered, f"{lib}/skillopt"))
    try:
        box = kind.found(view, Identity.here())
        source = "import os, sys; print(sorted(os.listdir(sys.argv[1])), os.listdir(sys.argv[1] + '/skillopt'))"
        ran = await box.run(("python", "-I", "-c", source, lib), work=work)
    except SandboxError as refusal:
        pytest.skip(str(refusal))
    assert ran.stdout == "['other', 'skillopt'] []\n", ran
    assert view.hides(tmp_path / "lib" / "skillopt" / "gold") and not view.hides(tmp_path / "lib" / "other")


def test_no_prefix_is_shown_as_a_whole() -> None:
    shown = {Path(place) for place in layout().shown}
    for place in (Path.home(), Path("/"), Path("/usr"), Path("/tmp"), Path("/etc"), Path(__file__).parents[3]):
        assert place not in shown and not any(place.is_relative_to(other) for other in shown)


def test_what_lies_deeper_is_made_later() -> None:
    view = Layout(("/tmp/env/lib", "/usr/lib"), (("/lib", "usr/lib"),), ("/tmp/env/lib/x",), "")
    places = [row[2] for row in view.mounts((("/data/a", "/input/a"),), Limits())]
    assert places.index("/tmp") < places.index("/tmp/env/lib") < places.index("/tmp/env/lib/x")
    words = options(view.mounts((), Limits()))
    assert words[-4:] == ("--remount-ro", "/tmp/env/lib/x", "--remount-ro", "/")


def test_root_never_stays_root() -> None:
    root = Identity(root=True, spare=(1_900_000_000, 100), counted=True)
    assert root.stranger and len({root.uid() for _ in range(50)}) > 10 and root.uid() >= 1_900_000_000
    assert Identity(root=False, spare=None, counted=True).uid() == 0


def judged(steps: bytes, architecture: int, number: int, argument: int = 0) -> int:
    """The verdict of a filter, step by step as the kernel does it."""
    rows = list(struct.iter_unpack("=HBBI", steps))
    seen = {0: number, 4: architecture, 16: argument & 0xFFFFFFFF}
    value = place = 0
    while True:
        code, if_so, if_not, operand = rows[place]
        place += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            value = seen[operand]
            continue
        met = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        place += if_so if met else if_not


@pytest.mark.parametrize(
    ("machine", "architecture", "mount", "read", "clone", "socket"),
    [("x86_64", 0xC000003E, 165, 0, 56, 41), ("aarch64", 0xC00000B7, 40, 63, 220, 198)],
)
def test_the_filter_of_each_machine(
    machine: str, architecture: int, mount: int, read: int, clone: int, socket: int
) -> None:
    steps = calls.program(machine)
    allowed, refused, killed = 0x7FFF0000, 0x00050001, 0x80000000
    assert judged(steps, architecture, mount) == refused
    assert judged(steps, architecture, read) == allowed
    assert judged(steps, architecture, clone, 17) == allowed
    assert judged(steps, architecture, clone, 0x10000000 | 17) == refused
    assert judged(steps, architecture, 435) == 0x00050026
    assert [judged(steps, architecture, socket, family) for family in (1, 2, 10)] == [allowed] * 3
    assert [judged(steps, architecture, socket, family) for family in (16, 17, 38, 40)] == [0x00050061] * 4
    assert judged(steps, 0x40000003, read) == killed
    assert judged(steps, architecture, 0x40000000 | read) == 0x00050026
