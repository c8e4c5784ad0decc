"""Image files as message parts: known by their first bytes, kept within what providers take, sent as data URLs.

A file's name proves nothing about its content, and a provider refuses an image whose stated kind is not its real one.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.agents.base import Picture
from skillopt.errors import SkillOptError
from skillopt.model.types import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Opened

MAX_BYTES = 3_700_000
"""The strictest of the large providers takes 5 MiB of base64, which is a third longer than the file."""
MAX_SIDE = 8_000
_REDUCED_SIDE = 4_000
_SENT_AS_IS = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_PNG = b"\x89PNG\r\n\x1a\n"
_BEGINNINGS = (
    (_PNG, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)
_BMP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})
_PILLOW = 'pip install "skillopt[images]"'


async def parts(pictures: Sequence[Picture]) -> tuple[Image, ...]:
    """All pictures of a task. Files are read, and large ones shrunk, beside the loop."""
    return tuple([await asyncio.to_thread(part, picture) for picture in pictures])


def part(picture: Picture) -> Image:
    """One picture; a file that cannot be read or understood is a `SkillOptError` that names it."""
    detail = "" if picture.detail == "auto" else picture.detail
    try:
        return Image(_data_url(picture.path, picture.path.stat().st_mtime_ns), detail)
    except OSError as error:
        raise SkillOptError(f"the image {picture.path} cannot be read: {error.strerror or error}") from error


def image_kind(data: bytes) -> str:
    """The MIME type of an image file (png, jpeg, gif, webp, tiff, bmp) by its first bytes; "" for anything else."""
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    # Two letters are no proof: a text may begin with BM. The header's size is one of a few.
    if data[:2] == b"BM" and int.from_bytes(data[14:18], "little") in _BMP_HEADERS:
        return "image/bmp"
    return ""


def complaint(data: bytes) -> str:
    """Why a file's content cannot be shown to a model, as the end of a sentence; "" when it can."""
    if not data:
        return "is empty"
    kind = image_kind(data)
    if not kind:
        return "is not an image (png, jpeg, gif, webp, tiff or bmp)"
    if kind == "image/png" and b"IEND" not in data:
        return "is cut off: the end of the PNG is missing"
    if not _fits(data, kind) and importlib.util.find_spec("PIL") is None:
        return f"is too large for a model, or of a kind none takes; making it fit needs Pillow: {_PILLOW}"
    return ""


@lru_cache(maxsize=64)
def _data_url(path: Path, modified: int) -> str:
    """`modified` makes a changed file a new entry."""
    data = path.read_bytes()
    if said := complaint(data):
        raise SkillOptError(f"the image {path} {said}")
    kind = image_kind(data)
    if not _fits(data, kind):
        kind, data = _reduced(path, data)
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _fits(data: bytes, kind: str) -> bool:
    return kind in _SENT_AS_IS and len(data) <= MAX_BYTES and _side(data) <= MAX_SIDE


def _side(data: bytes) -> int:
    """The longer side in pixels. Only PNG states it in a fixed place; without Pillow the others count as small."""
    if data.startswith(_PNG):
        return max(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    try:
        from PIL import Image as Pillow
    except ImportError:
        return 0
    try:
        with Pillow.open(BytesIO(data)) as opened:
            return max(opened.size)
    except (OSError, Pillow.DecompressionBombError):  # the provider may still take what Pillow does not
        return 0


def _reduced(path: Path, data: bytes) -> tuple[str, bytes]:
    """The same page as a smaller PNG, or as a JPEG where that keeps more of its size."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(BytesIO(data)) as opened:
            page = _flat(opened)
    except Exception as error:
        raise SkillOptError(f"the image {path} cannot be made smaller: {type(error).__name__}: {error}") from error
    side = _REDUCED_SIDE
    while True:
        page.thumbnail((side, side))
        for kind in ("PNG", "JPEG"):
            out = BytesIO()
            page.save(out, kind, quality=90)
            if out.tell() <= MAX_BYTES:
                return f"image/{kind.lower()}", out.getvalue()
        side = int(side * 0.75)


def _flat(opened: Opened) -> Opened:
    """Upright and on white: a transparent page would otherwise come out as black on black."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    page = ImageOps.exif_transpose(opened)
    if not page.has_transparency_data:
        return page.convert("RGB")
    clear = page.convert("RGBA")
    white = Pillow.new("RGBA", clear.size, "white")
    white.alpha_composite(clear)
    return white.convert("RGB")
