from __future__ import annotations

import base64
import os
import sys
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image as Pillow

from skillopt.agents import pictures
from skillopt.agents.base import Picture, Task
from skillopt.agents.chat import ChatAgent
from skillopt.agents.pictures import complaint, image_kind, part, parts
from skillopt.errors import SkillOptError
from skillopt.model.types import Completion, Image, Request, Text
from skillopt.types import Usage


def made(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: object) -> bytes:
    out = BytesIO()
    Pillow.new(mode, size, options.pop("colour", "white")).save(out, kind, **options)  # type: ignore[arg-type]
    return out.getvalue()


def sent(path: Path, data: bytes) -> tuple[str, Pillow.Image]:
    path.write_bytes(data)
    kind, _, encoded = part(Picture(path)).url.removeprefix("data:").partition(";base64,")
    raw = base64.b64decode(encoded)
    assert len(encoded) <= 5 * 2**20 and image_kind(raw) == kind
    return kind, Pillow.open(BytesIO(raw))


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp", "tiff", "bmp"])
def test_an_image_is_known_by_its_content(kind: str) -> None:
    data = made(kind)
    assert image_kind(data) == f"image/{kind}" and complaint(data) == ""


@pytest.mark.parametrize("data", [b"", b"BM is how this text begins", b"%PDF-1.7", b"RIFF....WAVE", b"\x89PNG"])
def test_anything_else_is_not(data: bytes) -> None:
    assert image_kind(data) == "" and complaint(data)


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
def test_what_providers_take_is_sent_as_it_is_under_its_real_kind(tmp_path: Path, kind: str) -> None:
    (tmp_path / "page.tiff").write_bytes(made(kind))
    url = part(Picture(tmp_path / "page.tiff")).url
    assert url == f"data:image/{kind};base64,{base64.b64encode(made(kind)).decode()}"


@pytest.mark.parametrize("kind", ["tiff", "bmp"])
def test_what_they_do_not_take_becomes_a_png(tmp_path: Path, kind: str) -> None:
    assert sent(tmp_path / "x", made(kind))[0] == "image/png"


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_a_page_with_too_long_a_side_is_made_smaller(tmp_path: Path, kind: str) -> None:
    _, page = sent(tmp_path / "x", made(kind, (9000, 90)))
    assert max(page.size) == 4000 and page.size[0] / page.size[1] == pytest.approx(100)


def test_a_file_with_too_many_bytes_is_made_smaller_and_keeps_its_pixels(tmp_path: Path) -> None:
    noise = Pillow.frombytes("RGB", (1300, 1100), os.urandom(1300 * 1100 * 3))
    out = BytesIO()
    noise.save(out, "PNG")
    assert len(out.getvalue()) > pictures.MAX_BYTES
    kind, page = sent(tmp_path / "x", out.getvalue())
    assert kind == "image/jpeg" and page.size == (1300, 1100)


def test_a_transparent_page_stays_black_on_white(tmp_path: Path) -> None:
    _, page = sent(tmp_path / "x", made("png", (9000, 9), "RGBA", colour=(0, 0, 0, 0)))
    assert page.getpixel((0, 0)) == (255, 255, 255)


def test_a_page_that_lies_on_its_side_is_turned(tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    _, page = sent(tmp_path / "x", made("jpeg", (9000, 90), exif=exif))
    assert page.size == (40, 4000)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    first = sent(path, made("png"))[1].size
    path.write_bytes(made("png", (50, 60)))
    os.utime(path, ns=(1, 1))
    page = Pillow.open(BytesIO(base64.b64decode(part(Picture(path)).url.partition(",")[2])))
    assert page.size == (50, 60) != first


def test_detail_is_sent_unless_it_is_auto(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(made("png"))
    assert part(Picture(tmp_path / "x.png")).detail == ""
    assert part(Picture(tmp_path / "x.png", "low")).detail == "low"


@pytest.mark.parametrize("data", [None, b"no image", made("png")[:-20], made("tiff")[:60]])
def test_what_cannot_be_shown_is_an_error_with_its_name(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "broken.png"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SkillOptError, match=r"broken\.png"):
        part(Picture(path))


def test_without_pillow_only_what_needs_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, unusual = (made("png"), made("jpeg")), (made("tiff"), made("png", (9000, 9)))
    monkeypatch.setattr(pictures.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert [complaint(data) for data in plain] == ["", ""]
    assert all("skillopt[images]" in complaint(data) for data in unusual)


class Seen:
    identity = "seen"

    async def complete(self, request: Request) -> Completion:
        self.request = request
        return Completion("ok", Usage())

    async def close(self) -> None: ...


async def test_the_chat_agent_shows_pictures_after_the_question(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(made("png"))
    gateway, shown = Seen(), (Picture(tmp_path / "a.png"), Picture(tmp_path / "b.png", "high"))
    attempt = await ChatAgent(gateway).run(Task("s", "what?", pictures=shown))
    text, *images = gateway.request.messages[1].parts
    assert text == Text("what?") and tuple(images) == await parts(shown)
    assert [i.detail for i in images if isinstance(i, Image)] == ["", "high"]
    assert attempt.trajectory[1].text == "what?\n[image: a.png]\n[image: b.png]"
